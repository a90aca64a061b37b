package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// NoticeQueue is where notices wait, apart from all other work: a backlog must
	// not hold up the word of it.
	NoticeQueue = "notices"
	// NoticeKind is the kind of the jobs that deliver notices.
	NoticeKind = "http"

	// RuleUndelivered is the rule whose incidents say that notices to a target do
	// not arrive. The target itself is never told of its own: that would be one
	// more notice that does not arrive.
	RuleUndelivered = "undelivered-notices"

	noticeActor = watchActor
)

// UndeliveredScope is the scope of an incident of [RuleUndelivered].
func UndeliveredScope(target string) string { return "target " + target }

// Notice is what a target does not know yet of an incident.
type Notice struct {
	Incident Incident
	Was      IncidentState // as the target knows it; empty when it knows nothing
}

// NoticeRule says what a target is told, and when.
type NoticeRule struct {
	Target     string
	Severities []string      // of incidents that it is told of
	Every      time.Duration // at most one message within so long; 0 for no bound
	Most       int           // how many incidents one message may tell of, from 1
	OpenFirst  bool          // an acknowledged incident that the target knows nothing of is told as open, and then as it is
	// Body makes the message; now is the database's clock.
	Body func(now time.Time, notices []Notice) (json.RawMessage, error)
}

// untoldSQL finds what a target does not know: incidents that are not resolved
// and are new to it or changed, and those that it believes to be unresolved. What
// was resolved before it could be told is not worth a word. What counts is the
// severity now or as it was told: who heard of a high one hears that it is low.
// That notices to the target do not arrive is told to the others only. A change
// waits until the job that told of the incident last is over: a message
// that is tried again must not be heard behind the one that follows it.
const untoldSQL = `
select ` + incidentColumns + `, u.was
from (
  select o.id, coalesce(n.state, '') as was, n.job_id
  from fenceline.incidents o
  left join fenceline.notices n on n.target = $1 and n.incident_id = o.id
  where o.state <> 'resolved' and (o.severity = any ($2) or n.severity = any ($2)) and coalesce(o.snoozed_until < clock_timestamp(), true)
    and (o.rule, o.scope) <> ($5, $6)
    and (n.incident_id is null or (n.state, n.severity, n.reopened) <> (o.state, o.severity, o.reopened))
  union all
  select n.incident_id, n.state, n.job_id
  from fenceline.notices n
  join fenceline.incidents o on o.id = n.incident_id and o.state = 'resolved'
  where n.target = $1 and n.state <> 'resolved' and n.severity = any ($2)
) u
join fenceline.incidents i on i.id = u.id
where not exists (select from fenceline.notice_targets t where t.target = $1 and t.at > clock_timestamp() - $3::interval)
  and not exists (select from fenceline.jobs j where j.id = u.job_id and j.state not in ('completed', 'discarded', 'terminated'))
order by i.id
limit $4`

// Tell has what a target does not know delivered by a job of [NoticeKind] in
// [NoticeQueue], and keeps in the same transaction that it was told: each change
// makes one job, however many processes call this. What a target is to hear of an
// incident waits until the job that told of it before is delivered or given up,
// so that it hears of each in order. It returns the job's id, 0 when there was
// nothing to tell or another process is at it.
func (s *Store) Tell(ctx context.Context, r NoticeRule) (job int64, err error) {
	untold, err := readUntold(ctx, s.pool, r) // in most looks there is nothing, and that is all
	if err == nil && len(untold) > 0 {
		job, err = inTx(ctx, s.pool, func(tx pgx.Tx) (int64, error) { return s.tell(ctx, tx, r) })
	}
	if err != nil {
		return 0, fmt.Errorf("tell %s of incidents: %w", r.Target, err)
	}
	return job, nil
}

func (s *Store) tell(ctx context.Context, tx pgx.Tx, r NoticeRule) (int64, error) {
	var mine bool
	var now time.Time
	if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock(hashtextextended('fenceline.notices ' || $1::text, 0)), clock_timestamp()", r.Target).Scan(&mine, &now); err != nil || !mine {
		return 0, err
	}
	untold, err := readUntold(ctx, tx, r)
	if err != nil || len(untold) == 0 {
		return 0, err
	}
	body, err := r.Body(now.UTC(), untold)
	if err != nil {
		return 0, err
	}
	job, err := s.deliver(ctx, tx, r.Target, body, noticeActor)
	if err != nil {
		return 0, err
	}
	ids, states, severities, reopened := make([]int64, len(untold)), make([]string, len(untold)), make([]string, len(untold)), make([]int64, len(untold))
	for n, u := range untold {
		ids[n], states[n], severities[n], reopened[n] = u.Incident.ID, string(u.Incident.State), u.Incident.Severity, int64(u.Incident.Reopened)
	}
	_, err = tx.Exec(ctx, `
insert into fenceline.notices as n (target, incident_id, state, severity, reopened, at, job_id)
select $1, u.id, u.state, u.severity, u.reopened, clock_timestamp(), $6 from unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[]) u (id, state, severity, reopened)
on conflict (target, incident_id) do update set state = excluded.state, severity = excluded.severity, reopened = excluded.reopened, at = excluded.at, job_id = excluded.job_id`,
		r.Target, ids, states, severities, reopened, job)
	return job, err
}

// TellAnyway has a body delivered to a target whatever it knows, as a test. A bad
// field is refused with an *[InvalidError].
func (s *Store) TellAnyway(ctx context.Context, target string, body json.RawMessage, actor string) (job int64, err error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (int64, error) { return s.deliver(ctx, tx, target, body, actor) })
}

// deliver enqueues the job that delivers a body. It names the target, whose
// address and secrets only the worker knows.
func (s *Store) deliver(ctx context.Context, tx pgx.Tx, target string, body json.RawMessage, actor string) (int64, error) {
	args, err := json.Marshal(map[string]any{"target": target, "body": body})
	if err != nil {
		return 0, err
	}
	done, err := s.EnqueueTx(ctx, tx, Request{Kind: NoticeKind, Queue: NoticeQueue, Args: args, Actor: actor})
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `
insert into fenceline.notice_targets as t (target, at, job_id) values ($1, clock_timestamp(), $2)
on conflict (target) do update set at = excluded.at, job_id = excluded.job_id`, target, done.ID)
	return done.ID, err
}

func readUntold(ctx context.Context, q querier, r NoticeRule) ([]Notice, error) {
	rows, err := q.Query(ctx, untoldSQL, r.Target, r.Severities, r.Every, r.Most, RuleUndelivered, UndeliveredScope(r.Target))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (n Notice, err error) {
		n.Incident, err = scanIncident(withLast{row, &n.Was})
		if known := n.Was != "" && n.Was != IncidentResolved; r.OpenFirst && !known && n.Incident.State == IncidentAcknowledged {
			n.Incident.State = IncidentOpen
		}
		return n, err
	})
}

// withLast reads one column more than its row is asked for.
type withLast struct {
	pgx.CollectableRow
	last any
}

func (w withLast) Scan(dest ...any) error { return w.CollectableRow.Scan(append(dest, w.last)...) }

// Told is when a target was told anything last.
type Told struct {
	At  time.Time
	Job int64
}

// Told returns what these targets were told last, by name. One that was never
// told anything is not in it.
func (s *Store) Told(ctx context.Context, targets []string) (map[string]Told, error) {
	rows, err := s.pool.Query(ctx, "select t.target, t.at, t.job_id from fenceline.notice_targets t where t.target = any ($1)", targets)
	if err != nil {
		return nil, fmt.Errorf("read who was told: %w", err)
	}
	all := map[string]Told{}
	var target string
	var t Told
	_, err = pgx.ForEachRow(rows, []any{&target, &t.At, &t.Job}, func() error {
		all[target] = Told{t.At.UTC(), t.Job}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read who was told: %w", err)
	}
	return all, nil
}

const forgetNoticesSQL = `delete from fenceline.notices n using (
   select o.target, o.incident_id from fenceline.notices o
   where o.state = 'resolved' and o.at < now() - $1::interval order by o.at limit $2 for update skip locked) o
 where (n.target, n.incident_id) = (o.target, o.incident_id)`
