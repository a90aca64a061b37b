package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// manySQL opens the operator's verbs for many jobs: $1 job ids, $2 the revisions
// seen, $3 actor, $4 reason, $5 action, $6 the transitions' detail, $7
// operation. It is the guard of [operatorSQL], decided for each job on its locked
// row; what is left alone is named with why.
const manySQL = `
with offered as materialized (
  select o.id, o.seen from unnest($1::bigint[], $2::bigint[]) as o (id, seen)
), locked as materialized (
  select j.id, j.kind, j.queue, j.state, j.generation, j.revision, j.attempt_id, j.attempt_end, j.worker,
         j.run_at, j.attempts_used, j.max_attempts, j.erased_at
  from fenceline.jobs j
  where j.id = any ($1::bigint[])
  order by j.id
  for no key update%s
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from locked
), verdict as materialized (
  select o.id, o.seen, c.at, l.kind, l.queue, l.state, l.generation, l.revision, l.attempt_id, l.attempt_end, l.worker,
         l.run_at, l.attempts_used, l.max_attempts,
         case
           when l.id is null then %s
           when l.revision <> o.seen then 'changed'
           when $5 = 'requeue' and l.state = 'available' then 'already_waiting'
           when $5 = 'requeue' and l.erased_at is not null then 'erased'
           when $5 = 'terminate' and l.state in ('completed', 'discarded', 'terminated') then 'already_ended'
           else 'accepted'
         end as verdict
  from offered o
  cross join clock c
  left join locked l on l.id = o.id
), audited as (
  insert into fenceline.audit (job_id, at, seen, revision, actor, action, outcome, reason, detail)
  select v.id, v.at, v.seen, v.revision, $3, $5, 'done', $4, jsonb_build_object('operation', $7::bigint::text)
  from verdict v
  where v.verdict = 'accepted'
), skipped as (
  insert into fenceline.operation_skips (operation_id, job_id, at, seen, revision, why, state)
  select $7::bigint, v.id, v.at, v.seen, v.revision, v.verdict, v.state
  from verdict v
  where v.verdict <> 'accepted'
)`

const manyTold = `
select count(*) filter (where v.verdict = 'accepted'), ` + notified

var (
	patientMany = fmt.Sprintf(manySQL, "", "'gone'")
	// hastyMany leaves alone what somebody keeps locked.
	hastyMany = fmt.Sprintf(manySQL, " skip locked", "case when exists (select from fenceline.jobs j where j.id = o.id) then 'busy' else 'gone' end")
)

func manyOf(action Action, hasty bool) string {
	sql := patientMany
	if hasty {
		sql = hastyMany
	}
	if action == ActionTerminate {
		return sql + terminatePart + manyTold + " from verdict v"
	}
	return sql + requeuePart + manyTold + " and " + workNotified + " from verdict v"
}

// OperationStep is what one step did.
type OperationStep struct {
	ID       int64 // 0: nothing was to be done now
	Position int64
	Total    int64
	State    OperationState
	Next     time.Duration // until some operation may go on; negative when none waits
}

// stepLock is how long a step waits for the rows of its jobs before it leaves
// alone what is locked.
const stepLock = "set local lock_timeout = '1s'"

// StepOperation takes one step of an operation that is running and due: at most
// 250 jobs, in one transaction with the progress. Its row is locked meanwhile and
// others step over it, so that no two processes do the same, and a process that
// dies in the middle has done nothing of the step. A job that changed since the
// snapshot, is gone, or was in no state for it, is left alone and named; one that
// another session keeps locked for a second, too. An operation that its stop rule
// halts, or whose [Mandate] holds no more, is halted instead.
func (s *Store) StepOperation(ctx context.Context, worker string) (OperationStep, error) {
	next, err := s.nextOperation(ctx)
	if err != nil || next != 0 {
		return OperationStep{Next: next}, err
	}
	for _, hasty := range []bool{false, true} {
		step, err := inTx(ctx, s.pool, func(tx pgx.Tx) (OperationStep, error) { return stepOperation(ctx, tx, worker, hasty) })
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == "55P03" && !hasty {
			continue
		}
		if err != nil {
			return step, fmt.Errorf("take a step of an operation: %w", err)
		}
		return step, nil
	}
	return OperationStep{}, nil
}

// nextOperation is how long until an operation may go on: 0 when one may now,
// negative when none is running.
func (s *Store) nextOperation(ctx context.Context) (time.Duration, error) {
	var seconds *float64
	err := s.pool.QueryRow(ctx, `select extract(epoch from min(o.next_at) - clock_timestamp())::float8 from fenceline.operations o where o.state = 'running'`).Scan(&seconds)
	switch {
	case err != nil:
		return -1, fmt.Errorf("look for operations: %w", err)
	case seconds == nil:
		return -1, nil
	}
	return max(0, time.Duration(*seconds*float64(time.Second))), nil
}

// underWay is an operation with its row locked.
type underWay struct {
	Operation
	judge   bool
	from    int64 // the position from which the stop rule judges
	mandate Mandate
	resumed bool // who carries it on is not who confirmed it
}

// Those that were longest without a step come first.
const takeSQL = `
select ` + operationColumns + `, o.halt_above is not null and (o.judged_at is null or o.judged_at < clock_timestamp() - interval '2 seconds'),
  coalesce(o.resumed_from, 0), coalesce(o.mandate_person, 0), coalesce(o.mandate_token, 0), coalesce(o.acts_for <> o.confirmed_by, false)
from fenceline.operations o
where o.state = 'running' and o.next_at <= clock_timestamp()
order by o.stepped_at nulls first, o.id
limit 1
for no key update skip locked`

func stepOperation(ctx context.Context, tx pgx.Tx, worker string, hasty bool) (OperationStep, error) {
	none := OperationStep{Next: -1}
	if _, err := tx.Exec(ctx, stepLock); err != nil {
		return none, err
	}
	rows, err := tx.Query(ctx, takeSQL)
	if err != nil {
		return none, err
	}
	o, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (o underWay, err error) {
		o.Operation, err = scanOperation(before{row, []any{&o.judge, &o.from, &o.mandate.PersonID, &o.mandate.TokenID, &o.resumed}})
		return o, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return none, nil // somebody else is at it
	}
	if err != nil {
		return none, err
	}
	code, why, err := o.mustHalt(ctx, tx)
	if err != nil || why != "" {
		return OperationStep{ID: o.ID, Position: o.Position, Total: o.Total, State: OperationHalted, Next: -1}, errors.Join(err, o.stop(ctx, tx, worker, code, why))
	}
	jobs, revisions, err := o.next(ctx, tx)
	if err != nil {
		return none, err
	}
	var done int64
	if len(jobs) > 0 {
		var mark bool
		err = tx.QueryRow(ctx, manyOf(o.Action, hasty), planned(len(jobs), jobs, revisions, o.ActsFor, o.Reason, string(o.Action), Detail{Operation: o.ID}, o.ID)...).Scan(&done, &mark)
		if err != nil {
			return none, err
		}
	}
	return o.moved(ctx, tx, worker, int64(len(jobs)), done)
}

// next is the jobs of the next step: about a second's worth under a pace.
func (o *underWay) next(ctx context.Context, tx pgx.Tx) (jobs, revisions []int64, err error) {
	most := int64(partJobs)
	if o.Pace > 0 {
		most = min(most, max(1, int64(o.Pace)/60))
	}
	err = tx.QueryRow(ctx, `
		select p.jobs[$3::bigint + 1:$3::bigint + $4::bigint], p.revisions[$3::bigint + 1:$3::bigint + $4::bigint]
		from fenceline.operation_parts p where p.operation_id = $1 and p.n = $2`,
		o.ID, o.Position/partJobs, o.Position%partJobs, most).Scan(&jobs, &revisions)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return jobs, revisions, err
}

// Without a pace an operation rests as long as its step took: on a machine that
// is busy with it, every other moment belongs to those who claim.
const movedSQL = `
with moved as (
  update fenceline.operations o
  set position = o.position + $2, done = o.done + $3, stepped_at = clock_timestamp(), worker = $4,
      next_at = clock_timestamp() + case when o.pace is null then clock_timestamp() - transaction_timestamp()
                else $2::bigint * interval '1 minute' / o.pace end,
      judged_at = case when $5 then clock_timestamp() else o.judged_at end,
      state = case when o.position + $2 >= o.total then 'finished' else o.state end,
      revision = o.revision + case when o.position + $2 >= o.total then 1 else 0 end,
      changed_at = case when o.position + $2 >= o.total then clock_timestamp() else o.changed_at end,
      finished_at = case when o.position + $2 >= o.total then clock_timestamp() end
  where o.id = $1
  returning o.*
), audited as (
  insert into fenceline.audit (actor, action, outcome, detail)
  select $4, 'finish', 'done', jsonb_build_object('operation', m.id::text, 'does', m.action, 'total', m.total, 'dealt_with', m.position, 'changed', m.done)
  from moved m where m.state = 'finished'
)
select m.position, m.state, extract(epoch from m.next_at - clock_timestamp())::float8, ` + notified + ` from moved m`

func (o *underWay) moved(ctx context.Context, tx pgx.Tx, worker string, n, done int64) (OperationStep, error) {
	step := OperationStep{ID: o.ID, Total: o.Total}
	var seconds float64
	var mark bool
	err := tx.QueryRow(ctx, movedSQL, o.ID, n, done, worker, o.judge).Scan(&step.Position, &step.State, &seconds, &mark)
	step.Next = max(0, time.Duration(seconds*float64(time.Second)))
	return step, err
}

// ForgetOperations removes operations that ended so long ago, and previews that
// nobody confirmed for a day. It returns how many.
func (s *Store) ForgetOperations(ctx context.Context, keep time.Duration) (n int, err error) {
	if err = s.pool.QueryRow(ctx, "select fenceline.forget_operations($1, 100)", keep).Scan(&n); err != nil {
		return 0, fmt.Errorf("forget operations: %w", err)
	}
	return n, nil
}
