package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Failure offers the news that an attempt did not succeed.
type Failure struct {
	Lease     Lease
	Delay     time.Duration // until the next attempt, from the moment the row is locked
	Permanent bool          // no retry can help: the job is discarded whatever its budget
	Reason    string        // [ReasonPermanent] or [ReasonResultUnstorable]; used when Permanent
	Error     AttemptError
	Output    string // what the attempt's program said last; empty to keep nothing
}

// Under the guard: a retry with its due time, or the end of the job when it is
// permanent or the budget is spent.
const failSQL = guard + `
, offers as materialized (
  select f.n, f.permanent, f.reason, f.hash, f.delay * interval '1 microsecond' as delay
  from unnest($6::bool[], $7::bigint[], $8::text[], $9::text[]) with ordinality as f (permanent, delay, reason, hash, n)
), failed as materialized (
  select v.*, f.hash,
         (case when f.permanent or v.attempts_used >= v.max_attempts then 'discarded'
               when f.delay <= interval '0' then 'available'
               else 'retryable' end)::fenceline.job_state as to_state,
         case when f.permanent then f.reason when v.attempts_used >= v.max_attempts then 'budget_spent' end as reason,
         case when f.permanent or v.attempts_used >= v.max_attempts then v.run_at else v.at + f.delay end as due
  from verdict v
  join offers f on f.n = v.n
  where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set state = f.to_state, attempt_end = 'failed', revision = f.revision + 1, run_at = f.due,
      finished_at = case f.to_state when 'discarded' then f.at end
  from failed f
  where j.id = f.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, run_at, attempt_id, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, worker, reason, detail)
  select f.id, f.at, f.generation, f.revision + 1, f.due, f.attempt_id, 'failed', 'running', f.to_state,
         f.attempts_used, f.max_attempts, f.kind, f.queue, $5, f.reason, jsonb_build_object('class', f.hash)
  from failed f
)
select v.n, v.verdict, v.current, coalesce(f.to_state, v.state)::text, null::timestamptz,
       ` + notified + ` and (f.to_state is distinct from 'available' or ` + workNotified + `)
from verdict v
left join failed f on f.n = v.n`

// Fail records that attempts did not succeed, under the guard: the job waits
// for its next attempt, or is discarded when the failure is permanent or the
// budget is spent. A refused failure schedules no retry; it is recorded and
// returned as a *[StaleError] in its outcome. The errors' texts are made
// storable first, so that none can stop a failure from being recorded, and lose
// what a rule keeps from everybody. A repeat by the same attempt is answered as
// success.
func (s *Store) Fail(ctx context.Context, worker string, batch []Failure) ([]Outcome, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	o := newOffer(OpFail, worker, len(batch), func(i int) Lease { return batch[i].Lease })
	n := len(o.leases)
	permanent, delays := make([]bool, n), make([]int64, n)
	reasons, hashes := make([]string, n), make([]string, n)
	cleaned, outputs := make([]AttemptError, len(batch)), make([]string, len(batch))
	all := make([]said, len(batch))
	for i, f := range batch {
		all[i] = said{lease: f.Lease}
	}
	kept, err := s.keptSecrets(ctx, all)
	if err != nil {
		return nil, err
	}
	for place, i := range o.first() {
		f := batch[i]
		cleaned[i] = f.Error.without(kept[f.Lease.JobID]).clean()
		outputs[i] = kept[f.Lease.JobID].Without(f.Output)
		permanent[place] = f.Permanent
		delays[place] = max(0, f.Delay.Microseconds())
		reasons[place] = f.Reason
		if f.Permanent && f.Reason == "" {
			reasons[place] = ReasonPermanent
		}
		hashes[place] = cleaned[i].fingerprint()
	}
	return inTx(ctx, s.pool, func(tx pgx.Tx) ([]Outcome, error) {
		outcomes, err := o.run(ctx, tx, failSQL, permanent, delays, reasons, hashes)
		if err != nil {
			return nil, err
		}
		if err := keepErrors(ctx, tx, outcomes, cleaned); err != nil {
			return nil, err
		}
		return outcomes, keepOutputs(ctx, tx, outcomes, func(i int) string { return outputs[i] })
	})
}
