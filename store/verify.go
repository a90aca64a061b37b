package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Report is what [Store.Verify] found.
type Report struct {
	OK          bool        `json:"ok"`
	Jobs        int64       `json:"jobs"`
	Transitions int64       `json:"transitions"`
	Refused     int64       `json:"refused"` // refused writes on record
	Violations  []Violation `json:"violations"`
	Took        string      `json:"took"`
}

// maxViolations is how many are listed; a broken log has them everywhere.
const maxViolations = 1000

// Verify holds every job's row against its transitions, and the transitions
// against the invariants I1 to I10, in one snapshot. It reads everything once,
// in the order of the jobs, and keeps one job in memory at a time.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	start := time.Now()
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// It holds no rows, so a slow machine may take its time between two readings.
	_, err = tx.Exec(ctx, "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local enable_seqscan = on")
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	v := &verifier{}
	for _, pass := range []func(context.Context, pgx.Tx) error{v.replay, v.checkFollowUps, v.checkResidue, v.checkDetails} {
		if err := pass(ctx, tx); err != nil {
			return Report{}, fmt.Errorf("verify: %w", err)
		}
	}
	v.OK, v.Took = len(v.Violations) == 0, time.Since(start).Round(time.Millisecond).String()
	if v.Violations == nil {
		v.Violations = []Violation{}
	}
	return v.Report, nil
}

type verifier struct {
	Report
}

func (v *verifier) add(found ...Violation) {
	room := max(0, maxViolations-len(v.Violations))
	v.Violations = append(v.Violations, found[:min(room, len(found))]...)
}

// replay folds each job's log and compares it with the row (I1 to I5, I7, I9).
// Logs come through a cursor beside the rows, both in the order of the jobs.
func (v *verifier) replay(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `declare rows no scroll cursor for
		select `+listColumns+` from fenceline.jobs j order by j.id`)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `declare log no scroll cursor for
		select `+transitionColumns+` from fenceline.transitions t order by t.job_id, t.id`)
	if err != nil {
		return err
	}
	jobs := &reader[Job]{tx: tx, fetch: "fetch 2000 from rows", scan: scanJob}
	log := &reader[Transition]{tx: tx, fetch: "fetch 5000 from log", scan: scanTransition}
	for {
		j, more, err := jobs.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			return v.orphans(ctx, log)
		}
		v.Jobs++
		if err := v.replayJob(ctx, j, log); err != nil {
			return err
		}
	}
}

func (v *verifier) replayJob(ctx context.Context, j Job, log *reader[Transition]) error {
	var h History
	for {
		t, more, err := log.next(ctx)
		if err != nil {
			return err
		}
		if !more || t.JobID > j.ID {
			log.unread(t, more)
			break
		}
		v.Transitions++
		if t.JobID < j.ID {
			v.orphan(t)
			continue
		}
		if t.Type == TypeRejected {
			v.Refused++
		}
		h.Add(t)
	}
	if h.Last == 0 {
		v.add(Violation{Invariant: "I5", JobID: j.ID, Message: "the job has no transition"})
		return nil
	}
	v.add(h.Violations...)
	v.add(h.Differences(j)...)
	return nil
}

func (v *verifier) orphans(ctx context.Context, log *reader[Transition]) error {
	for {
		t, more, err := log.next(ctx)
		if err != nil || !more {
			return err
		}
		v.Transitions++
		v.orphan(t)
	}
}

func (v *verifier) orphan(t Transition) {
	v.add(Violation{Invariant: "I5", JobID: t.JobID, Transition: t.ID, Message: "the transition's job does not exist"})
}

// checkFollowUps holds I10: a parent's follow-ups are exactly those that its
// accepted results wrote.
func (v *verifier) checkFollowUps(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		with written as (
		  select t.job_id, sum((t.detail->>'follow_ups')::bigint - coalesce((t.detail->>'linked')::bigint, 0)) as n
		  from fenceline.transitions t where t.type = 'completed' and t.detail ? 'follow_ups' group by t.job_id
		), present as (
		  select j.parent_id as job_id, count(*) as n from fenceline.jobs j where j.parent_id is not null group by j.parent_id
		)
		select coalesce(w.job_id, p.job_id), coalesce(w.n, 0)::bigint, coalesce(p.n, 0)
		from written w full join present p using (job_id)
		where coalesce(w.n, 0) <> coalesce(p.n, 0)`)
	if err != nil {
		return err
	}
	var id, written, present int64
	_, err = pgx.ForEachRow(rows, []any{&id, &written, &present}, func() error {
		v.add(Violation{Invariant: "I10", JobID: id, Message: fmt.Sprintf("its accepted results wrote %d follow-ups; %d exist", written, present)})
		return nil
	})
	return err
}

// checkResidue holds I6: what refused attempts left behind is their record
// alone. An attempt's error or output is kept only when its write was accepted.
func (v *verifier) checkResidue(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select e.job_id, 'an error'
		from fenceline.attempt_errors e
		where not exists (select from fenceline.transitions t
		  where t.job_id = e.job_id and t.attempt_id = e.attempt_id and t.type = 'failed')
		union all
		select o.job_id, 'an output'
		from fenceline.attempt_outputs o
		where not exists (select from fenceline.transitions t
		  where t.job_id = o.job_id and t.attempt_id = o.attempt_id and t.type in ('failed', 'completed'))`)
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

// checkDetails holds I8 as far as shape can show it: a transition's detail has
// no field but the known small ones.
func (v *verifier) checkDetails(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select t.job_id, t.id from fenceline.transitions t
		where t.detail is not null
		  and (t.detail - array['current', 'class', 'follow_ups', 'linked', 'unstarted', 'lease_ms', 'first', 'count'] <> '{}'
		       or octet_length(t.detail::text) > 512)
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

// reader goes through a cursor row by row.
type reader[T any] struct {
	tx    pgx.Tx
	fetch string
	scan  pgx.RowToFunc[T]
	rows  []T
	at    int
	held  *T
	done  bool
}

func (r *reader[T]) next(ctx context.Context) (T, bool, error) {
	var zero T
	if r.held != nil {
		t := *r.held
		r.held = nil
		return t, true, nil
	}
	if r.at == len(r.rows) {
		if r.done {
			return zero, false, nil
		}
		rows, err := r.tx.Query(ctx, r.fetch)
		if err != nil {
			return zero, false, err
		}
		if r.rows, err = pgx.CollectRows(rows, r.scan); err != nil {
			return zero, false, err
		}
		r.at = 0
		if len(r.rows) == 0 {
			r.done = true
			return zero, false, nil
		}
	}
	t := r.rows[r.at]
	r.at++
	return t, true, nil
}

func (r *reader[T]) unread(t T, have bool) {
	if have {
		r.held = &t
	}
}
