package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Completion offers an attempt's result.
type Completion struct {
	Lease     Lease
	Result    json.RawMessage // must pass [CheckJSON]; empty means null
	FollowUps []FollowUp      // written if and only if the result is accepted
	Output    string          // what the attempt's program said last; empty to keep nothing
}

// Under the guard: result, owner of the result, state and finishing time
// together.
const completeSQL = guard + `
, results as materialized (
  select r.n, r.result, r.detail from unnest($6::text[], $7::text[]) with ordinality as r (result, detail, n)
), changed as (
  update fenceline.jobs j
  set state = 'completed', attempt_end = 'completed', revision = v.revision + 1, finished_at = v.at,
      result = r.result::jsonb, result_attempt_id = v.attempt_id, result_generation = v.generation
  from verdict v
  join results r on r.n = v.n
  where v.verdict = 'accepted' and j.id = v.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, attempt_id, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, worker, detail)
  select v.id, v.at, v.generation, v.revision + 1, v.attempt_id, 'completed', 'running', 'completed',
         v.attempts_used, v.max_attempts, v.kind, v.queue, $5, r.detail::jsonb
  from verdict v
  join results r on r.n = v.n
  where v.verdict = 'accepted'
)
select v.n, v.verdict, v.current, case v.verdict when 'accepted' then 'completed' else v.state::text end,
       null::timestamptz, ` + notified + `
from verdict v`

// Complete stores results, under the guard: an accepted result is of the
// current generation, offered under a lease that was alive when its row was
// locked. A refused one changes nothing, is recorded, and is returned as a
// *[StaleError] in its outcome; a result or follow-up that could not be stored
// is not offered at all and returned as an *[InvalidError] in its outcome. In
// both cases the others of the batch are not concerned. A repeat by the same
// attempt is answered as success. An error means that the whole batch changed
// nothing, or that its answer was lost: offer it again.
func (s *Store) Complete(ctx context.Context, worker string, batch []Completion) ([]Outcome, error) {
	outcomes := make([]Outcome, len(batch))
	offered := make([]int, 0, len(batch))
	for i := range batch {
		if err := batch[i].check(); err != nil {
			outcomes[i] = Outcome{Lease: batch[i].Lease, Err: err}
			continue
		}
		offered = append(offered, i)
	}
	if len(offered) == 0 {
		return outcomes, nil
	}
	storable := make([]Completion, len(offered))
	for n, i := range offered {
		storable[n] = batch[i]
	}
	verdicts, err := s.complete(ctx, worker, storable)
	if err != nil {
		return nil, err
	}
	for n, i := range offered {
		outcomes[i] = verdicts[n]
	}
	return outcomes, nil
}

func (c Completion) check() error {
	if len(c.Result) > 0 {
		if err := CheckJSON("result", c.Result, MaxResult); err != nil {
			return err
		}
	}
	return checkFollowUps(c.FollowUps)
}

func (s *Store) complete(ctx context.Context, worker string, batch []Completion) ([]Outcome, error) {
	o := newOffer(OpComplete, worker, len(batch), func(i int) Lease { return batch[i].Lease })
	results, details := make([]string, len(o.leases)), make([]*string, len(o.leases))
	extras := false
	first := o.first()
	for place, i := range first {
		results[place] = orNull(batch[i].Result)
		extras = extras || len(batch[i].FollowUps) > 0 || batch[i].Output != ""
	}
	if !extras {
		return o.run(ctx, s.pool, completeSQL, results, details)
	}
	outputs, err := s.outputs(ctx, batch)
	if err != nil {
		return nil, err
	}
	return inTx(ctx, s.pool, func(tx pgx.Tx) ([]Outcome, error) {
		linked, err := linkedFollowUps(ctx, tx, batch)
		if err != nil {
			return nil, err
		}
		for place, i := range first {
			details[place] = followUpDetail(len(batch[i].FollowUps), linked[i])
		}
		outcomes, err := o.run(ctx, tx, completeSQL, results, details)
		if err != nil {
			return nil, err
		}
		for i := range outcomes {
			outcomes[i].Linked = linked[i]
		}
		if err := keepOutputs(ctx, tx, outcomes, func(i int) string { return outputs[i] }); err != nil {
			return nil, err
		}
		return outcomes, writeFollowUps(ctx, tx, batch, outcomes)
	})
}

func orNull(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

// inTx runs fn in one READ COMMITTED transaction. Nothing but SQL may happen
// inside fn: while it runs, rows are locked.
func inTx[T any](ctx context.Context, pool interface {
	BeginTx(context.Context, pgx.TxOptions) (pgx.Tx, error)
}, fn func(pgx.Tx) (T, error)) (T, error) {
	var zero T
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return zero, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	out, err := fn(tx)
	if err != nil {
		return zero, err
	}
	if err := tx.Commit(ctx); err != nil {
		return zero, fmt.Errorf("commit: %w", err)
	}
	return out, nil
}
