package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// IncidentState is where an incident stands.
type IncidentState string

// The states of an incident.
const (
	IncidentOpen         IncidentState = "open"
	IncidentAcknowledged IncidentState = "acknowledged" // somebody has it
	IncidentResolved     IncidentState = "resolved"     // only what happens afterwards opens it again
)

// IncidentAction is what was done with an incident.
type IncidentAction string

// What people can do with an incident; all but a note are refused when it has
// changed since they looked.
const (
	IncidentAcknowledge IncidentAction = "acknowledge"
	IncidentResolve     IncidentAction = "resolve"
	IncidentSnooze      IncidentAction = "snooze"
	IncidentSeverity    IncidentAction = "severity"
	IncidentMerge       IncidentAction = "merge" // it is part of another one from then on
	IncidentNote        IncidentAction = "note"
)

// What the watch does with an incident.
const (
	IncidentOpened   IncidentAction = "opened"
	IncidentReopened IncidentAction = "reopened"
	IncidentQuiet    IncidentAction = "quiet"     // resolved, because nothing was found for long enough
	IncidentLapsed   IncidentAction = "lapsed"    // the acknowledgement came to its end
	IncidentJoined   IncidentAction = "joined"    // another one was merged into it
	watchActor                      = "fenceline" // who opens and closes by itself
)

// Incident is something that is wrong, or was.
type Incident struct {
	ID           int64
	Revision     int64
	State        IncidentState
	Severity     string
	Rule, Scope  string
	What         string // with the numbers as they were found last
	N            int64
	Job          int64  // one of its jobs; 0 when none is named
	Search       string // finds its jobs; empty where no search does
	Kind, Queue  string // of its evidence; empty for any
	Fingerprint  string // of its errors
	Types        []Type // the transitions that are its evidence
	Owner        string // who acknowledged it last
	OwnedUntil   time.Time
	SnoozedUntil time.Time
	OpenedAt     time.Time
	FoundAt      time.Time // when its rule found it last, before it was resolved
	ChangedAt    time.Time
	ResolvedAt   time.Time
	Reopened     int
	JobsSince    time.Time // from when on the jobs of its evidence are kept; zero where none are
	MergedInto   int64     // the incident that it is part of; 0 for none

	lingersAt time.Time // when a look found it last, resolved or not
}

// Snoozed reports whether the incident stands back at a time.
func (i Incident) Snoozed(now time.Time) bool { return i.SnoozedUntil.After(now) }

// ErrNoIncident says that there is no such incident.
var ErrNoIncident = errors.New("incident not found")

// IncidentConflictError says that an action was refused because the incident
// changed, and how it stands now. Nothing was changed.
type IncidentConflictError struct {
	Seen     int64
	Why      Conflict // [ConflictChanged], or [ConflictAlreadyEnded] of a resolved one
	Incident Incident
}

// Error tells what the incident is now.
func (e *IncidentConflictError) Error() string {
	if e.Why == ConflictAlreadyEnded {
		return fmt.Sprintf("incident %d is resolved already", e.Incident.ID)
	}
	return fmt.Sprintf("incident %d changed since you looked: it is at revision %d, you saw %d", e.Incident.ID, e.Incident.Revision, e.Seen)
}

const incidentColumns = `i.id, i.revision, i.state, i.severity, i.rule, i.scope, i.what, i.n, coalesce(i.job_id, 0), i.search, i.kind, i.queue,
  i.fingerprint, i.types, coalesce(i.owner, ''), i.owned_until, i.snoozed_until, i.opened_at, least(i.found_at, i.resolved_at), greatest(i.found_at, i.lingers_at), i.changed_at, i.resolved_at, i.reopened,
  i.jobs_since, coalesce(i.merged_into, 0)`

func scanIncident(row pgx.CollectableRow) (i Incident, err error) {
	var owned, snoozed, resolved, jobs *time.Time
	err = row.Scan(&i.ID, &i.Revision, &i.State, &i.Severity, &i.Rule, &i.Scope, &i.What, &i.N, &i.Job, &i.Search, &i.Kind, &i.Queue,
		&i.Fingerprint, &i.Types, &i.Owner, &owned, &snoozed, &i.OpenedAt, &i.FoundAt, &i.lingersAt, &i.ChangedAt, &resolved, &i.Reopened, &jobs, &i.MergedInto)
	i.OwnedUntil, i.SnoozedUntil, i.ResolvedAt, i.JobsSince = orZero(owned), orZero(snoozed), orZero(resolved), orZero(jobs)
	i.OpenedAt, i.FoundAt, i.ChangedAt = i.OpenedAt.UTC(), i.FoundAt.UTC(), i.ChangedAt.UTC()
	return i, err
}

// IncidentChange is what a person does with an incident.
type IncidentChange struct {
	ID       int64
	Seen     *int64 // the revision that was looked at; required but for a note
	Actor    string
	Action   IncidentAction
	Reason   string        // required for a resolve and a note
	For      time.Duration // snooze: required; acknowledge: 0 for no end
	Severity string        // severity: low, medium or high
	Into     int64         // merge: the incident that it is part of
}

// maxSnooze bounds snoozes and acknowledgements.
const maxSnooze = 30 * 24 * time.Hour

func (c IncidentChange) check() error {
	if c.Reason != "" || c.Action == IncidentResolve || c.Action == IncidentNote {
		if err := checkReason(c.Reason); err != nil {
			return err
		}
	}
	switch c.Action {
	case IncidentAcknowledge, IncidentSnooze:
		if c.For < 0 || c.For > maxSnooze || c.Action == IncidentSnooze && c.For < time.Minute {
			return &InvalidError{"for", "must be a length of time from 1m to 720h"}
		}
	case IncidentSeverity:
		if c.Severity != "low" && c.Severity != "medium" && c.Severity != "high" {
			return &InvalidError{"severity", "must be low, medium or high"}
		}
	case IncidentMerge:
		if c.Into <= 0 || c.Into == c.ID {
			return &InvalidError{"into", "must be the id of another incident"}
		}
	case IncidentResolve, IncidentNote:
	default:
		return &InvalidError{"action", "must be acknowledge, resolve, snooze, severity, merge or note"}
	}
	if c.Seen == nil && c.Action != IncidentNote {
		return &InvalidError{"seen", "is required: the revision that you looked at"}
	}
	return nil
}

const changeIncidentSQL = `
update fenceline.incidents i
set revision = i.revision + 1, changed_at = c.at,
    state = case $2::text when 'acknowledge' then 'acknowledged' when 'resolve' then 'resolved' when 'merge' then 'resolved' else i.state end,
    owner = case $2 when 'acknowledge' then $3 else i.owner end,
    owned_until = case $2 when 'acknowledge' then c.until else i.owned_until end,
    snoozed_until = case $2 when 'snooze' then c.until when 'resolve' then null when 'merge' then null else i.snoozed_until end,
    severity = case $2 when 'severity' then $5 else i.severity end,
    resolved_at = case when $2 in ('resolve', 'merge') then c.at else i.resolved_at end,
    resolved_in = case when $2 in ('resolve', 'merge') then pg_current_snapshot() else i.resolved_in end,
    merged_into = case $2 when 'merge' then nullif($6::bigint, 0) else i.merged_into end
from (select clock_timestamp() as at, case when $4::interval > '0' then clock_timestamp() + $4::interval end as until) c
where i.id = $1
returning ` + incidentColumns

// ChangeIncident does what a person wants done with an incident. The guard is
// the revision that was seen: an [*IncidentConflictError] says that the incident
// is another one by now, and how it stands. A note is bound to nothing. Each
// change leaves its entry in the same transaction.
func (s *Store) ChangeIncident(ctx context.Context, c IncidentChange) (Incident, error) {
	if err := c.check(); err != nil {
		return Incident{}, err
	}
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Incident, error) {
		if c.Action == IncidentMerge { // it locks two, and so does a look
			if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock("+watchLock+")"); err != nil {
				return Incident{}, err
			}
		}
		i, err := lockIncident(ctx, tx, c.ID)
		if err != nil {
			return Incident{}, err
		}
		if c.Action != IncidentNote {
			if *c.Seen != i.Revision {
				return Incident{}, &IncidentConflictError{*c.Seen, ConflictChanged, i}
			}
			if i.State == IncidentResolved {
				return Incident{}, &IncidentConflictError{*c.Seen, ConflictAlreadyEnded, i}
			}
			if c.Action == IncidentMerge {
				if err := i.join(ctx, tx, c); err != nil {
					return Incident{}, err
				}
			}
			rows, err := tx.Query(ctx, changeIncidentSQL, c.ID, string(c.Action), c.Actor, c.For, c.Severity, c.Into)
			if err != nil {
				return Incident{}, err
			}
			if i, err = pgx.CollectExactlyOneRow(rows, scanIncident); err != nil {
				return Incident{}, fmt.Errorf("change incident %d: %w", c.ID, err)
			}
		}
		if c.Action == IncidentMerge {
			c.Reason = joinWords(fmt.Sprintf("into incident %d", c.Into), c.Reason)
		}
		if c.Action == IncidentSeverity {
			c.Reason = joinWords(c.Severity, c.Reason)
		}
		return i, enter(ctx, tx, i, c.Action, c.Actor, c.Reason, c.For)
	})
}

func joinWords(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + ": " + rest
}

func lockIncident(ctx context.Context, tx pgx.Tx, id int64) (Incident, error) {
	rows, err := tx.Query(ctx, `select `+incidentColumns+` from fenceline.incidents i where i.id = $1 for no key update`, id)
	if err != nil {
		return Incident{}, err
	}
	i, err := pgx.CollectExactlyOneRow(rows, scanIncident)
	if errors.Is(err, pgx.ErrNoRows) {
		return Incident{}, ErrNoIncident
	}
	return i, err
}

// enter appends to the incident's timeline, and tells whoever listens.
func enter(ctx context.Context, tx pgx.Tx, i Incident, action IncidentAction, actor, reason string, length time.Duration) error {
	_, err := tx.Exec(ctx, `insert into fenceline.incident_entries (incident_id, revision, action, actor, reason, until)
		values ($1, $2, $3, $4, $5, case when $6::interval > '0' then clock_timestamp() + $6::interval end)`,
		i.ID, i.Revision, string(action), actor, reason, length)
	if err == nil {
		_, err = tx.Exec(ctx, "select "+notified)
	}
	if err != nil {
		return fmt.Errorf("enter what was done with incident %d: %w", i.ID, err)
	}
	return nil
}
