package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff bounds the wait before the next attempt: it doubles from Base and
// never exceeds Cap.
type Backoff struct {
	Base, Cap time.Duration
}

// DefaultBackoff is used where a kind names none.
var DefaultBackoff = Backoff{Base: time.Second, Cap: 15 * time.Minute}

// Delay is the wait after the nth attempt, drawn evenly between zero and the
// bound (full jitter), so that jobs which failed together do not come back
// together. It is never zero, never negative and never above Cap, however
// large n is.
func (b Backoff) Delay(n int) time.Duration {
	bound := b.Base
	for i := 1; i < n && bound < b.Cap; i++ {
		bound *= 2
	}
	bound = max(min(bound, b.Cap), time.Millisecond)
	return time.Millisecond + rand.N(bound-time.Millisecond+1)
}

const expireSQL = `
with due as materialized (
  select j.id, j.kind, j.queue, j.generation, j.revision, j.attempt_id, j.worker, j.lease_until, j.run_at,
         j.attempts_used, j.max_attempts
  from fenceline.jobs j
  where j.state = 'running'
    and j.lease_until <= clock_timestamp()
  order by j.id
  limit $1
  for no key update skip locked
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from due
), expired as materialized (
  select d.*, c.at,
         (case when d.attempts_used >= d.max_attempts then 'discarded'
               when d.attempts_used <= 1 then 'available'
               else 'retryable' end)::fenceline.job_state as to_state,
         case when d.attempts_used >= d.max_attempts then d.run_at
              when d.attempts_used <= 1 then c.at
              else c.at + greatest(0.001, random() * least($3, $2 * power(2, least(d.attempts_used - 2, 40)))) * interval '1 second'
         end as due,
         case when d.attempts_used >= d.max_attempts then 'budget_spent' end as reason
  from due d
  cross join clock c
  where d.lease_until <= c.at
), changed as (
  update fenceline.jobs j
  set state = e.to_state, attempt_end = 'expired', revision = e.revision + 1, run_at = e.due,
      finished_at = case e.to_state when 'discarded' then e.at end
  from expired e
  where j.id = e.id
    and j.generation = e.generation
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, lease_until, run_at, attempt_id, type, from_state, to_state,
     attempts_used, max_attempts, kind, queue, worker, actor, reason)
  select e.id, e.at, e.generation, e.revision + 1, e.lease_until, e.due, e.attempt_id, 'expired', 'running', e.to_state,
         e.attempts_used, e.max_attempts, e.kind, e.queue, e.worker, 'sweeper', e.reason
  from expired e
)
select e.id, ` + notified + ` and (e.to_state <> 'available' or ` + workNotified + `) from expired e`

// Expire takes the permission away from up to limit attempts whose deadline
// has passed. It stops no process. The job is available at its first expiry,
// waits by b at later ones, and is discarded when its budget is spent: a job
// that kills its worker ends. Any number of processes may call it at once; a
// row that another session holds is left for the next call. It returns how
// many it expired.
func (s *Store) Expire(ctx context.Context, limit int, b Backoff) (int, error) {
	tag, err := s.pool.Exec(ctx, expireSQL, planned(limit, limit, b.Base.Seconds(), b.Cap.Seconds())...)
	if err != nil {
		return 0, fmt.Errorf("expire: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
