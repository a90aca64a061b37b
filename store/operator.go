package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// OperatorParams is an operator's action on one job, bound to what the
// operator saw.
type OperatorParams struct {
	JobID  int64
	Seen   int64  // the job's revision that was looked at; the action's guard
	Actor  string // who acts; set by the edge, never by a client
	Reason string // the operator's words; kept on the timeline and in the audit
}

func (p OperatorParams) check() error {
	if p.Actor == "" {
		return &InvalidError{"actor", "is required"}
	}
	if err := checkName("actor", p.Actor, MaxActor); err != nil {
		return err
	}
	if p.Seen <= 0 {
		return &InvalidError{"seen.revision", "is required: the revision of the job that you looked at"}
	}
	return checkReason(p.Reason)
}

// operatorSQL opens both verbs: $1 job, $2 the revision seen, $3 actor, $4
// reason, $5 action. As in the guard of an attempt, the row is locked first,
// the clock is read under the lock, and only locked values decide. The audit's
// entry is part of the same statement, also for what is refused.
const operatorSQL = `
with locked as materialized (
  select j.id, j.kind, j.queue, j.state, j.generation, j.revision, j.attempt_id, j.attempt_end, j.worker,
         j.run_at, j.attempts_used, j.max_attempts
  from fenceline.jobs j
  where j.id = $1
  for no key update
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from locked
), verdict as materialized (
  select l.*, c.at,
         case
           when l.revision <> $2 then 'changed'
           when $5 = 'requeue' and l.state = 'available' then 'already_waiting'
           when $5 = 'terminate' and l.state in ('completed', 'discarded', 'terminated') then 'already_ended'
           else 'accepted'
         end as verdict
  from locked l
  cross join clock c
), audited as (
  insert into fenceline.audit (at, job_id, seen, revision, actor, action, outcome, reason)
  select v.at, v.id, $2, v.revision, $3, $5,
         case v.verdict when 'accepted' then 'done' else v.verdict end, $4
  from verdict v
)`

// The verbs' own parts, for one job and for many: $6 is the detail that their
// transitions carry.
const (
	requeueSQL   = operatorSQL + requeuePart + operatedOne + ` and ` + workNotified + ` from verdict v`
	terminateSQL = operatorSQL + terminatePart + operatedOne + ` from verdict v`
	operatedOne  = `
select v.verdict, ` + notified
)

const requeuePart = `
, requeued as materialized (
  select v.*, greatest(v.max_attempts, v.attempts_used + 1) as budget
  from verdict v
  where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set state = 'available', revision = r.revision + 1, run_at = r.at, max_attempts = r.budget, finished_at = null,
      attempt_end = case r.state when 'running' then 'requeued' else r.attempt_end end
  from requeued r
  where j.id = r.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, run_at, attempt_id, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, worker, actor, reason, detail)
  select r.id, r.at, r.generation, r.revision + 1, r.at,
         case r.state when 'running' then r.attempt_id end, 'requeued', r.state, 'available',
         r.attempts_used, r.budget, r.kind, r.queue, case r.state when 'running' then r.worker end, $3, $4, $6::jsonb
  from requeued r
)`

const terminatePart = `
, ended as materialized (
  select v.* from verdict v where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set state = 'terminated', revision = e.revision + 1, finished_at = e.at,
      attempt_end = case e.state when 'running' then 'terminated' else e.attempt_end end
  from ended e
  where j.id = e.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, attempt_id, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, worker, actor, reason, detail)
  select e.id, e.at, e.generation, e.revision + 1,
         case e.state when 'running' then e.attempt_id end, 'terminated', e.state, 'terminated',
         e.attempts_used, e.max_attempts, e.kind, e.queue, case e.state when 'running' then e.worker end, $3, $4, $6::jsonb
  from ended e
)`

// Requeue makes a job available again, bound to the revision that was seen. Of
// a running job it takes the lease away: the attempt's later writes are refused
// as already_ended. A finished job gets at least one more attempt; a stored
// result stays until a new one is accepted. A job that changed since, or that
// is already waiting, is left alone: *[ConflictError] with what it is now.
// [ErrNotFound] when there is no such job. The returned job is as the action
// left it.
func (s *Store) Requeue(ctx context.Context, p OperatorParams) (Job, error) {
	return s.operate(ctx, ActionRequeue, requeueSQL, p)
}

// Terminate ends a job, bound to the revision that was seen. A running attempt
// loses its permission at once and its later writes are refused as terminated;
// effects outside the database may still be under way. A job that changed
// since, or that has ended, is left alone: *[ConflictError]. [ErrNotFound] when
// there is no such job. The returned job is as the action left it.
func (s *Store) Terminate(ctx context.Context, p OperatorParams) (Job, error) {
	return s.operate(ctx, ActionTerminate, terminateSQL, p)
}

func (s *Store) operate(ctx context.Context, action Action, sql string, p OperatorParams) (Job, error) {
	if err := p.check(); err != nil {
		return Job{}, err
	}
	type result struct {
		verdict string
		job     Job
	}
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (result, error) {
		var r result
		var mark bool
		err := tx.QueryRow(ctx, sql, p.JobID, p.Seen, p.Actor, p.Reason, string(action), nil).Scan(&r.verdict, &mark)
		if errors.Is(err, pgx.ErrNoRows) {
			return r, ErrNotFound
		}
		if err != nil {
			return r, fmt.Errorf("%s job %d: %w", action, p.JobID, err)
		}
		r.job, err = job(ctx, tx, p.JobID)
		return r, err
	})
	if err != nil {
		return Job{}, err
	}
	if out.verdict != "accepted" {
		return Job{}, &ConflictError{Action: action, Why: Conflict(out.verdict), Seen: p.Seen, Job: out.job}
	}
	return out.job, nil
}
