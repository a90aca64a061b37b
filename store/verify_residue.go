package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// checkResidue holds I6: what refused attempts left behind is their record
// alone. An attempt's error or output is kept only when its write was accepted.
// Of one whose write may be in the removed part of the log, nobody can tell; the
// minute is more than lies between a write's clock and that of its error.
func (v *verifier) checkResidue(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select e.job_id, 'an error'
		from fenceline.attempt_errors e
		where ($1::timestamptz is null or e.at > $1 + interval '1 minute')
		  and not exists (select from fenceline.transitions t
		  where t.job_id = e.job_id and t.attempt_id = e.attempt_id and t.type = 'failed')
		union all
		select o.job_id, 'an output'
		from fenceline.attempt_outputs o
		where ($1::timestamptz is null or o.at > $1 + interval '1 minute')
		  and not exists (select from fenceline.transitions t
		  where t.job_id = o.job_id and t.attempt_id = o.attempt_id and t.type in ('failed', 'completed'))`, orNoTime(v.LogBefore))
	if err != nil {
		return err
	}
	var id int64
	var what string
	_, err = pgx.ForEachRow(rows, []any{&id, &what}, func() error {
		v.add(Violation{Invariant: "I6", JobID: id, Message: what + " is kept of an attempt whose write was not accepted"})
		return nil
	})
	return err
}

// checkErased holds what I11 says of erased jobs: nothing is left of what they were
// given and made.
func (v *verifier) checkErased(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select j.id from fenceline.jobs j
		where j.erased_at is not null
		  and (j.args <> '{}' or j.result is not null or octet_length(j.request_hash) > 0
		       or exists (select from fenceline.attempt_outputs o where o.job_id = j.id)
		       or exists (select from fenceline.attempt_errors e where e.job_id = j.id and (e.message <> '' or e.trace is not null)))
		limit 100`)
	if err != nil {
		return err
	}
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		v.add(Violation{Invariant: "I11", JobID: id, Message: "it was erased, and something is left of its payload"})
		return nil
	})
	return err
}

// checkDetails holds I8 as far as shape can show it: a transition's detail has
// no field but the known small ones.
func (v *verifier) checkDetails(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select t.job_id, t.id from fenceline.transitions t
		where not `+detailsSQL+`
		limit 100`)
	if err != nil {
		return err
	}
	var id, transition int64
	_, err = pgx.ForEachRow(rows, []any{&id, &transition}, func() error {
		v.add(Violation{Invariant: "I8", JobID: id, Transition: transition, Message: "its detail holds more than the known small fields"})
		return nil
	})
	return err
}
