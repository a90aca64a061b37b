package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// OperatorParams is an operator's action on one job, bound to what the
// operator saw.
type OperatorParams struct {
	JobID   int64
	Seen    int64     // the job's revision that was looked at; the action's guard
	Actor   string    // who acts; set by the edge, never by a client
	Reason  string    // the operator's words; kept on the timeline and in the audit
	Request uuid.UUID // tells a repeat from another action; uuid.Nil for none
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

// operatorSQL opens each of the operator's verbs: $1 job, $2 the revision seen,
// $3 actor, $4 reason, $5 action, $6 detail, $7 request. As in the guard of an
// attempt, the row is locked first, the clock is read under the lock, and only
// locked values decide. The audit's entry is part of the same statement, also for
// what is refused; but not for a repeat, nor for a value that no job can have,
// whose verdict begins with "!". The verbs' own columns, verdicts and joins stand
// in braces.
const operatorSQL = `
with locked as materialized (
  select j.id, j.kind, j.queue, j.state, j.generation, j.revision, j.attempt_id, j.attempt_end, j.worker,
         j.run_at, j.attempts_used, j.max_attempts, j.priority, j.tags, j.args_version, j.erased_at{columns}
  from fenceline.jobs j
  where j.id = $1
  for no key update
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from locked
), verdict as materialized (
  select l.*, c.at{given},
         case
           when $7::uuid is not null and fenceline.operator_did(l.id, $7) then 'repeated'
           when l.revision <> $2 then 'changed'
{verdicts}
           else 'accepted'
         end as verdict
  from locked l
  cross join clock c{joins}
), audited as (
  insert into fenceline.audit (at, job_id, seen, revision, actor, action, outcome, reason, detail)
  select v.at, v.id, $2, v.revision, $3, $5,
         case v.verdict when 'accepted' then 'done' else v.verdict end, $4, {audited}
  from verdict v
  where v.verdict <> 'repeated' and v.verdict not like '!%'
)`

// opening is a verb's own form of [operatorSQL].
type opening struct{ columns, given, verdicts, joins, audited string }

func (o opening) sql() string {
	return strings.NewReplacer("{columns}", o.columns, "{given}", o.given, "{verdicts}", strings.TrimRight(o.verdicts, "\n"), "{joins}", o.joins,
		"{audited}", cmp.Or(o.audited, "$6::jsonb")).Replace(operatorSQL)
}

// operatedOne ends a verb: its verdict, its notification's mark, and the copy that
// it made.
const operatedOne = `
select v.verdict, ` + notified

const (
	requeueVerdicts = `           when $5 = 'requeue' and l.state = 'available' then 'already_waiting'
`
	terminateVerdicts = `           when $5 = 'terminate' and l.state in ('completed', 'discarded', 'terminated') then 'already_ended'
`
	withoutArgsVerdict = `           when $5 = 'requeue' and l.erased_at is not null then 'erased'
`
)

var (
	requeueSQL = opening{verdicts: requeueVerdicts + withoutArgsVerdict}.sql() +
		requeuePart + operatedOne + ` and ` + workNotified + `, null::bigint from verdict v`
	terminateSQL = opening{verdicts: terminateVerdicts}.sql() + terminatePart + operatedOne + `, null::bigint from verdict v`
)

// The verbs' own parts, for one job and for many: $6 is the detail that their
// transitions carry. The braces stand for what a requeue with other args adds.
const requeueWithPart = `
, requeued as materialized (
  select v.*, greatest(v.max_attempts, v.attempts_used + 1) as budget
  from verdict v
  where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set state = 'available', revision = r.revision + 1, run_at = r.at, max_attempts = r.budget, finished_at = null,
      attempt_end = case r.state when 'running' then 'requeued' else r.attempt_end end{set}
  from requeued r
  where j.id = r.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, run_at, attempt_id, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, worker, actor, reason, detail)
  select r.id, r.at, r.generation, r.revision + 1, r.at,
         case r.state when 'running' then r.attempt_id end, 'requeued', r.state, 'available',
         r.attempts_used, r.budget, r.kind, r.queue, case r.state when 'running' then r.worker end, $3, $4, {detail}
  from requeued r
)`

var requeuePart = strings.NewReplacer("{set}", "", "{detail}", "$6::jsonb").Replace(requeueWithPart)

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
// result stays until a new one is accepted. A job that changed since, that is
// already waiting, or whose args were erased, is left alone: *[ConflictError]
// with what it is now. [ErrNotFound] when there is no such job. The returned job
// is as the action left it; of a repeat, as it is now.
func (s *Store) Requeue(ctx context.Context, p OperatorParams) (Job, error) {
	done, err := s.operate(ctx, operation{action: ActionRequeue, sql: requeueSQL, logs: TypeRequeued}, p)
	return done.Job, err
}

// Terminate ends a job, bound to the revision that was seen. A running attempt
// loses its permission at once and its later writes are refused as terminated;
// effects outside the database may still be under way. A job that changed
// since, or that has ended, is left alone: *[ConflictError]. [ErrNotFound] when
// there is no such job. The returned job is as the action left it; of a repeat,
// as it is now.
func (s *Store) Terminate(ctx context.Context, p OperatorParams) (Job, error) {
	done, err := s.operate(ctx, operation{action: ActionTerminate, sql: terminateSQL, logs: TypeTerminated}, p)
	return done.Job, err
}

// operation is one verb, as it is sent.
type operation struct {
	action Action
	sql    string
	logs   Type   // the transition that it leaves
	detail Detail // of that, beside the request
	args   []any  // from $8 on
	change Change // what it asks for; zero for most
	after  string // what ends it in the same transaction: $1 job; empty for nothing
}

// operated is what became of one.
type operated struct {
	Job     Job
	Copy    int64 // the job that was made; 0 for none
	verdict string
}

func (s *Store) operate(ctx context.Context, o operation, p OperatorParams) (operated, error) {
	if err := p.check(); err != nil {
		return operated{}, err
	}
	o.detail.Request = p.Request
	var detail *Detail
	if o.detail != (Detail{}) {
		detail = &o.detail
	}
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (operated, error) {
		var r operated
		var mark bool
		var made *int64
		args := append([]any{p.JobID, p.Seen, p.Actor, p.Reason, string(o.action), detail, orNoID(p.Request)}, o.args...)
		err := tx.QueryRow(ctx, o.sql, args...).Scan(&r.verdict, &mark, &made)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return r, ErrNotFound
		case err != nil:
			return r, fmt.Errorf("%s job %d: %w", o.action, p.JobID, err)
		case made != nil:
			r.Copy = *made
		}
		switch {
		case r.verdict == "accepted" && o.after != "":
			_, err = tx.Exec(ctx, o.after, p.JobID)
		case r.verdict == "repeated":
			r.Copy, err = repeated(ctx, tx, o, p)
		}
		if err != nil {
			return r, fmt.Errorf("%s job %d: %w", o.action, p.JobID, err)
		}
		r.Job, err = job(ctx, tx, p.JobID)
		return r, err
	})
	switch {
	case err != nil:
		return operated{}, err
	case out.verdict == "accepted", out.verdict == "repeated":
		return out, nil
	case strings.HasPrefix(out.verdict, "!"):
		return operated{}, o.change.impossible(out.verdict, out.Job)
	}
	why := Conflict(out.verdict)
	return operated{}, &ConflictError{Action: o.action, Why: why, Field: o.change.field(why), Seen: p.Seen, Job: out.Job}
}

func orNoID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
