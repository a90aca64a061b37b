package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// What operators do with a [Control], beside their verbs for jobs.
const (
	ActionPause  Action = "pause"
	ActionResume Action = "resume"
	ActionLimit  Action = "limit"
	ActionDrain  Action = "drain"
)

// ControlParams is an operator's change of a [Control], bound to what the
// operator saw.
type ControlParams struct {
	Scope  Scope
	Name   string
	Seen   *int64 // the control's revision that was looked at, 0 where nothing was ever set; the change's guard
	Actor  string // who acts; set by the edge, never by a client
	Reason string // the operator's words; kept with a pause and in the audit
}

// PauseEnd says when a pause ends by itself, on the database's clock: after For, or
// else at Until. The zero value says that it does not.
type PauseEnd struct {
	For   time.Duration
	Until time.Time
}

func (p ControlParams) check() error {
	if err := p.Scope.Check(p.Name); err != nil {
		return err
	}
	if p.Actor == "" {
		return &InvalidError{"actor", "is required"}
	}
	if err := checkName("actor", p.Actor, MaxActor); err != nil {
		return err
	}
	if p.Seen == nil || *p.Seen < 0 {
		return &InvalidError{"seen.revision", "is required: the revision of the settings that you looked at, 0 where nothing was set yet"}
	}
	return checkReason(p.Reason)
}

func (e PauseEnd) check() error {
	switch {
	case e.For < 0:
		return &InvalidError{"for", "must not be negative"}
	case e.For > maxPauseFor:
		return &InvalidError{"for", "must be at most a year"}
	case e.For > 0 && !e.Until.IsZero():
		return &InvalidError{"until", "cannot be given together with for"}
	case !e.Until.IsZero() && (e.Until.Year() < 1970 || e.Until.Year() > 9999):
		return &InvalidError{"until", "must lie between the years 1970 and 9999"}
	}
	return nil
}

const maxPauseFor = 366 * 24 * time.Hour

func (l Limits) check() error {
	switch {
	case l.Concurrency < 0 || l.Concurrency > MaxConcurrency:
		return &InvalidError{"concurrency", fmt.Sprintf("must be between 1 and %d, or 0 for no limit", MaxConcurrency)}
	case l.Rate.N < 0 || l.Rate.N > MaxRate:
		return &InvalidError{"rate", fmt.Sprintf("must be between 1 and %d claims, or 0 for no limit", MaxRate)}
	case l.Rate.N == 0 && l.Rate.Per != 0:
		return &InvalidError{"per", "is given without a rate"}
	case l.Rate.N > 0 && (l.Rate.Per < MinRatePer || l.Rate.Per > MaxRatePer):
		return &InvalidError{"per", fmt.Sprintf("must be between %s and %s", "1s", "24h")}
	}
	return nil
}

// claimsKey is the advisory lock that every claim shares for its transaction;
// see fenceline.admit.
const claimsKey = 7378424937698260076

// controlSQL opens each change: $1 key, $2 scope, $3 name, $4 the revision seen,
// $5 actor, $6 reason, $7 action, $8 microseconds until the end, $9 the end, $10 concurrency,
// $11 rate, $12 microseconds of its time. No claim is under way. The audit's
// entry is part of the same statement, also for what is refused.
const controlSQL = `
with clock as materialized (
  select clock_timestamp() as at
), current as materialized (
  select c.* from fenceline.controls c where c.key = $1 for no key update
), asked as materialized (
  select k.at, coalesce(c.revision, 0) as revision, coalesce($9::timestamptz, k.at + $8::bigint * interval '1 microsecond') as until,
         c.paused_at is not null and (c.paused_until is null or c.paused_until > k.at) as paused,
         w.id is not null as known, w.stopped_at is not null as stopped
  from clock k
  left join current c on true
  left join fenceline.workers w on $2 = 'worker' and w.id = $3
), verdict as materialized (
  select a.*,
         case
           when $2 = 'worker' and not a.known then 'unknown_worker'
           when a.revision <> $4 then 'changed'
           when a.stopped then 'already_ended'
           when a.until <= a.at then 'past'
           when $7 = 'resume' and not coalesce(a.paused, false) then 'not_paused'
           else 'accepted'
         end as verdict
  from asked a
), changed as (
  insert into fenceline.controls as c
    (key, scope, name, revision, changed_at, paused_at, paused_until, paused_by, pause_reason, concurrency, rate, rate_per)
  select $1, $2, $3, v.revision + 1, v.at,
         case when $7 in ('pause', 'drain') then v.at end, v.until,
         case when $7 in ('pause', 'drain') then $5 end, case when $7 in ('pause', 'drain') then $6 end,
         nullif($10::integer, 0), nullif($11::integer, 0), case when $11 > 0 then $12::bigint * interval '1 microsecond' end
  from verdict v
  where v.verdict = 'accepted'
  on conflict (key) do update
  set revision = excluded.revision, changed_at = excluded.changed_at,
      paused_at = case when $7 = 'limit' then c.paused_at else excluded.paused_at end,
      paused_until = case when $7 = 'limit' then c.paused_until else excluded.paused_until end,
      paused_by = case when $7 = 'limit' then c.paused_by else excluded.paused_by end,
      pause_reason = case when $7 = 'limit' then c.pause_reason else excluded.pause_reason end,
      concurrency = case when $7 = 'limit' then excluded.concurrency else c.concurrency end,
      rate = case when $7 = 'limit' then excluded.rate else c.rate end,
      rate_per = case when $7 = 'limit' then excluded.rate_per else c.rate_per end,
      spent_at = case when $7 = 'limit' and excluded.rate is null then '{}' else c.spent_at end,
      spent = case when $7 = 'limit' and excluded.rate is null then '{}' else c.spent end
), audited as (
  insert into fenceline.audit (at, seen, revision, actor, action, outcome, reason, detail)
  select v.at, $4, v.revision, $5, $7, case v.verdict when 'accepted' then 'done' else v.verdict end, $6,
         jsonb_strip_nulls(jsonb_build_object('control', $1::text, 'scope', $2::text, 'name', nullif($3::text, ''), 'until', v.until,
           'concurrency', nullif($10::integer, 0), 'rate', nullif($11::integer, 0),
           'per_ms', case when $11 > 0 then $12::bigint / 1000 end))
  from verdict v
  where v.verdict not in ('unknown_worker', 'past')
)
select v.verdict, v.at, ` + notified + ` and ` + workNotified + ` from verdict v`

// Pause keeps jobs of a queue, of a kind, or all jobs from being claimed, until
// the end or until somebody resumes them. Running ones go on. When Pause has
// returned, nothing is claimed any more: no claim was under way when it was
// decided. Pausing what is paused gives the pause a new reason and end.
func (s *Store) Pause(ctx context.Context, p ControlParams, end PauseEnd) (Control, error) {
	if p.Scope == ScopeWorker {
		return Control{}, &InvalidError{"scope", "must be all, queue or kind; a worker is drained"}
	}
	if err := end.check(); err != nil {
		return Control{}, err
	}
	return s.control(ctx, ActionPause, p, end, Limits{})
}

// Drain keeps one worker from claiming more. What it holds it finishes, and
// keeps its leases for. [ErrNoWorker] when no such worker is known; a
// *[ControlConflictError] when it has ended.
func (s *Store) Drain(ctx context.Context, p ControlParams) (Control, error) {
	if p.Scope != ScopeWorker {
		return Control{}, &InvalidError{"scope", "must be worker"}
	}
	return s.control(ctx, ActionDrain, p, PauseEnd{}, Limits{})
}

// Resume ends a pause or a drain. Limits stay. What is not paused is left alone:
// *[ControlConflictError].
func (s *Store) Resume(ctx context.Context, p ControlParams) (Control, error) {
	return s.control(ctx, ActionResume, p, PauseEnd{}, Limits{})
}

// Limit sets the limits of a queue or kind, all of them: a zero value takes one
// away. They hold from the next claim on, over all processes. A pause stays.
func (s *Store) Limit(ctx context.Context, p ControlParams, l Limits) (Control, error) {
	if p.Scope != ScopeQueue && p.Scope != ScopeKind {
		return Control{}, &InvalidError{"scope", "must be queue or kind"}
	}
	if err := l.check(); err != nil {
		return Control{}, err
	}
	return s.control(ctx, ActionLimit, p, PauseEnd{}, l)
}

// control makes one change and its audit entry, or only the entry of what was
// refused, in one transaction. A control that changed since it was looked at is
// left alone: *[ControlConflictError] with what it is now.
func (s *Store) control(ctx context.Context, action Action, p ControlParams, end PauseEnd, l Limits) (Control, error) {
	if err := p.check(); err != nil {
		return Control{}, err
	}
	var after, until any
	if end.For > 0 {
		after = end.For.Microseconds()
	}
	if !end.Until.IsZero() {
		until = end.Until
	}
	type result struct {
		verdict string
		at      time.Time
		control Control
	}
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (r result, err error) {
		if _, err = tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, int64(claimsKey)); err != nil {
			return r, fmt.Errorf("wait for the claims under way: %w", err)
		}
		var mark bool
		err = tx.QueryRow(ctx, controlSQL, string(p.Scope)+":"+p.Name, string(p.Scope), p.Name, *p.Seen, p.Actor, p.Reason,
			string(action), after, until, l.Concurrency, l.Rate.N, l.Rate.Per.Microseconds()).Scan(&r.verdict, &r.at, &mark)
		if err != nil {
			return r, fmt.Errorf("%s %s %q: %w", action, p.Scope, p.Name, err)
		}
		r.control, err = control(ctx, tx, p.Scope, p.Name)
		return r, err
	})
	switch {
	case err != nil:
		return Control{}, err
	case out.verdict == "unknown_worker":
		return Control{}, ErrNoWorker
	case out.verdict == "past":
		return Control{}, &InvalidError{"until", "must lie in the future"}
	case out.verdict != "accepted":
		return Control{}, &ControlConflictError{Action: action, Why: Conflict(out.verdict), Seen: *p.Seen, Control: out.control, At: out.at.UTC()}
	}
	return out.control, nil
}
