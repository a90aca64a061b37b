package store

import "context"

// Released gives a claim back.
type Released struct {
	Lease   Lease
	Started bool // the handler had begun: the attempt stays charged
}

// Under the guard: available again, uncharged when it had not started.
const releaseSQL = guard + `
, released as materialized (
  select v.*, v.attempts_used - case when ($6::bool[])[v.n] then 0 else 1 end as charged
  from verdict v
  where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set state = case when r.charged >= r.max_attempts then 'discarded' else 'available' end::fenceline.job_state,
      finished_at = case when r.charged >= r.max_attempts then r.at end,
      attempt_end = 'released', revision = r.revision + 1, attempts_used = r.charged
  from released r
  where j.id = r.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, run_at, attempt_id, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, worker, reason, detail)
  select r.id, r.at, r.generation, r.revision + 1, r.run_at, r.attempt_id, 'released', 'running',
         case when r.charged >= r.max_attempts then 'discarded' else 'available' end::fenceline.job_state,
         r.charged, r.max_attempts, r.kind, r.queue, $5,
         case when r.charged >= r.max_attempts then 'budget_spent' end,
         case when ($6::bool[])[r.n] then null else '{"unstarted": true}'::jsonb end
  from released r
)
select v.n, v.verdict, v.current,
       case when v.verdict <> 'accepted' then v.state::text
            when r.charged >= r.max_attempts then 'discarded' else 'available' end,
       null::timestamptz, ` + notified + ` and (r.n is null or ` + workNotified + `)
from verdict v
left join released r on r.n = v.n`

// Release gives claims back, under the guard: the job is available again at
// once. An attempt that had not started is not charged to the budget; one that
// had, and spent the last of it, ends the job as discarded. A refusal is
// recorded and returned as a *[StaleError] in its outcome. A repeat by the same
// attempt is answered as success.
func (s *Store) Release(ctx context.Context, worker string, batch []Released) ([]Outcome, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	o := newOffer(OpRelease, worker, len(batch), func(i int) Lease { return batch[i].Lease })
	started := make([]bool, len(o.leases))
	for place, i := range o.first() {
		started[place] = batch[i].Started
	}
	return o.run(ctx, s.pool, releaseSQL, started)
}
