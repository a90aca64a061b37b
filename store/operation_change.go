package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// OperationParams is an operator's change of an [Operation], bound to what the
// operator saw.
type OperationParams struct {
	ID     int64
	Seen   int64   // the operation's revision that was looked at; the change's guard
	Actor  string  // who acts; set by the edge, never by a client
	Reason string  // the operator's words; of a confirmation, each job's timeline carries them
	Rules  Rules   // of a confirmation and of a resumption
	By     Mandate // likewise: on whose right it is carried on from then on; set by the edge, never by a client
}

// Rules say how an operation is carried on.
type Rules struct {
	Pace      int // jobs a minute, from 1 to [MaxPace]; 0 for as fast as it goes
	HaltAbove int // percent, from 1 to 99, of those that ran again that may fail with the same error; 0 for no rule
}

func (p OperationParams) check() error {
	switch {
	case p.Actor == "":
		return &InvalidError{"actor", "is required"}
	case p.Seen <= 0:
		return &InvalidError{"seen.revision", "is required: the revision of the operation that you looked at"}
	case p.Rules.Pace < 0 || p.Rules.Pace > MaxPace:
		return &InvalidError{"pace", fmt.Sprintf("must be between 1 and %d jobs a minute, or 0 for as fast as it goes", MaxPace)}
	case p.Rules.HaltAbove < 0 || p.Rules.HaltAbove > 99:
		return &InvalidError{"halt_above", "must be between 1 and 99 percent, or 0 for no rule"}
	}
	if err := checkName("actor", p.Actor, MaxActor); err != nil {
		return err
	}
	return checkReason(p.Reason)
}

// changeOperationSQL is each change: $1 operation, $2 the revision seen, $3
// actor, $4 reason, $5 action, $6 pace, $7 stop rule, $8 account, $9 token. The row's lock waits for
// the step under way: when a pause or a cancellation has been answered, nothing
// more is done. The audit's entry is part of the same statement, also for what
// is refused.
const changeOperationSQL = `
with locked as materialized (
  select o.* from fenceline.operations o where o.id = $1 for no key update
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from locked
), verdict as materialized (
  select l.*, c.at,
         case
           when $5 = 'confirm' and l.confirmed_at is not null then 'repeated'
           when l.revision <> $2 then 'changed'
           when $7 > 0 and l.action <> 'requeue' then 'no_rule'
           when $5 = 'confirm' and l.state = 'preview'
             or $5 = 'pause' and l.state = 'running'
             or $5 = 'resume' and l.state in ('paused', 'halted')
             or $5 = 'cancel' and l.state in ('running', 'paused', 'halted') then 'accepted'
           else 'changed'
         end as verdict
  from locked l
  cross join clock c
), changed as (
  update fenceline.operations o
  set revision = v.revision + 1, changed_at = v.at,
      state = case $5 when 'pause' then 'paused' when 'cancel' then 'cancelled' else 'running' end,
      confirmed_at = case $5 when 'confirm' then v.at else v.confirmed_at end,
      confirmed_by = case $5 when 'confirm' then $3 else v.confirmed_by end,
      reason = case $5 when 'confirm' then $4 else v.reason end,
      finished_at = case $5 when 'cancel' then v.at end,
      pace = case when $5 in ('confirm', 'resume') then nullif($6::bigint, 0) else v.pace end,
      halt_above = case when $5 in ('confirm', 'resume') then nullif($7::bigint, 0) else v.halt_above end,
      halt_reason = case $5 when 'resume' then null else v.halt_reason end,
      halt_code = case $5 when 'resume' then null else v.halt_code end,
      acts_for = case when $5 in ('confirm', 'resume') then $3 else v.acts_for end,
      mandate_person = case when $5 in ('confirm', 'resume') then nullif($8::bigint, 0) else v.mandate_person end,
      mandate_token = case when $5 in ('confirm', 'resume') then nullif($9::bigint, 0) else v.mandate_token end,
      judged_at = case $5 when 'resume' then v.at else v.judged_at end,
      resumed_at = case $5 when 'resume' then v.at else v.resumed_at end,
      resumed_from = case $5 when 'resume' then v.position else v.resumed_from end,
      next_at = case when $5 in ('confirm', 'resume') then v.at else v.next_at end
  from verdict v
  where v.verdict = 'accepted' and o.id = v.id
), audited as (
  insert into fenceline.audit (at, seen, revision, actor, action, outcome, reason, detail)
  select v.at, $2, v.revision, $3, $5, case v.verdict when 'accepted' then 'done' else v.verdict end, $4,
         jsonb_strip_nulls(jsonb_build_object('operation', v.id::text, 'does', v.action, 'total', v.total, 'dealt_with', v.position,
           'pace', nullif($6::bigint, 0), 'halt_above', nullif($7::bigint, 0)))
  from verdict v
  where v.verdict <> 'no_rule'
)
select v.verdict, ` + notified + ` from verdict v`

// ConfirmOperation begins what a preview showed: from here on processes act on
// its snapshot, each job at the revision that was seen. repeated says that it had
// been confirmed before, by whoever; then nothing is changed and nothing happens
// twice. [ErrNoOperation] when there is no such operation.
func (s *Store) ConfirmOperation(ctx context.Context, p OperationParams) (o Operation, repeated bool, err error) {
	return s.changeOperation(ctx, ActionConfirm, p)
}

// PauseOperation stops a running operation between two steps: when it has
// returned, no step is under way. One that is not running, or changed since, is
// left alone: *[OperationConflictError] with what it is now.
func (s *Store) PauseOperation(ctx context.Context, p OperationParams) (Operation, error) {
	o, _, err := s.changeOperation(ctx, ActionPause, p)
	return o, err
}

// ResumeOperation goes on with one that is paused or halted, under the rules
// given, and on the right and in the name of who resumes it. Its stop rule judges
// what is requeued from then on.
func (s *Store) ResumeOperation(ctx context.Context, p OperationParams) (Operation, error) {
	o, _, err := s.changeOperation(ctx, ActionResume, p)
	return o, err
}

// CancelOperation ends an operation. What it has done stays done.
func (s *Store) CancelOperation(ctx context.Context, p OperationParams) (Operation, error) {
	o, _, err := s.changeOperation(ctx, ActionCancel, p)
	return o, err
}

func (s *Store) changeOperation(ctx context.Context, action Action, p OperationParams) (o Operation, repeated bool, err error) {
	if err := p.check(); err != nil {
		return Operation{}, false, err
	}
	var verdict string
	o, err = inTx(ctx, s.pool, func(tx pgx.Tx) (o Operation, err error) {
		var mark bool
		err = tx.QueryRow(ctx, changeOperationSQL, p.ID, p.Seen, p.Actor, p.Reason, string(action), p.Rules.Pace, p.Rules.HaltAbove, p.By.PersonID, p.By.TokenID).Scan(&verdict, &mark)
		if errors.Is(err, pgx.ErrNoRows) {
			return o, ErrNoOperation
		}
		if err != nil {
			return o, fmt.Errorf("%s operation %d: %w", action, p.ID, err)
		}
		rows, err := tx.Query(ctx, `select `+operationColumns+` from fenceline.operations o where o.id = $1`, p.ID)
		return oneOperation(rows, err)
	})
	switch {
	case err != nil:
		return Operation{}, false, err
	case verdict == "no_rule":
		return Operation{}, false, &InvalidError{"halt_above", "is a rule for requeues: what is terminated does not run again"}
	case verdict == "changed":
		return Operation{}, false, &OperationConflictError{Action: action, Why: ConflictChanged, Seen: p.Seen, Operation: o}
	}
	return o, verdict == "repeated", nil
}
