package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Incidents is what the list of incidents shows.
type Incidents struct {
	Now    time.Time
	Active []Incident // not resolved, what weighs most first, then the newest; at most 200
	Past   []Incident // resolved, the last one first; at most 50
}

const (
	maxActive  = 200
	maxPast    = 50
	maxEntries = 500
	maxSimilar = 5
)

const activeIncidentsSQL = `select ` + incidentColumns + ` from fenceline.incidents i where i.state <> 'resolved'
order by coalesce(i.snoozed_until > now(), false), case i.severity when 'high' then 0 when 'medium' then 1 else 2 end, i.opened_at desc, i.id limit $1`

// Incidents reads the list.
func (s *Store) Incidents(ctx context.Context) (out Incidents, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if out.Active, err = readIncidents(ctx, tx, activeIncidentsSQL, maxActive); err != nil {
			return err
		}
		out.Past, err = readIncidents(ctx, tx, `select `+incidentColumns+` from fenceline.incidents i where i.state = 'resolved' order by i.resolved_at desc limit $1`, maxPast)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select clock_timestamp()").Scan(&out.Now)
	})
	if err != nil {
		return Incidents{}, fmt.Errorf("read the incidents: %w", err)
	}
	out.Now = out.Now.UTC()
	return out, nil
}

func readIncidents(ctx context.Context, q querier, sql string, args ...any) ([]Incident, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanIncident)
}

// IncidentView is what the page of one incident shows.
type IncidentView struct {
	Now      time.Time
	Incident Incident
	Line     []IncidentLine // what the log says and what was done, oldest first
	More     bool           // there are more entries than the 500 newest, or more of operations than the 200 newest
	Similar  []Incident     // earlier ones of the same rule and scope, the last one first
	Merged   []Incident     // those that are part of it, by id; at most 200
	Others   []Incident     // those that it could be merged into: not resolved, the newest first, at most 200; none when it is resolved
	Touched  Count          // the jobs that it touches, as far as they are kept
}

// IncidentLine is one line of the timeline: an entry, or the count of a minute.
type IncidentLine struct {
	At     time.Time // when it was entered, or the beginning of the minute
	Of     int64     // the incident that it was entered of; another one's where that was merged into this one; 0 for a minute
	Action IncidentAction
	Actor  string
	Reason string
	Until  time.Time // of a snooze or an acknowledgement

	Operation IncidentOperation // what an operation on its jobs did; its zero value otherwise

	Type Type // of a minute: what was counted; empty for an entry
	N    int64
}

// Incident reads one incident with its timeline. [ErrNoIncident] when there is
// none of that id.
func (s *Store) Incident(ctx context.Context, id int64) (v IncidentView, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) error { return v.read(ctx, tx, id) })
	if err != nil {
		return IncidentView{}, fmt.Errorf("read incident %d: %w", id, err)
	}
	return v, nil
}

func (v *IncidentView) read(ctx context.Context, tx pgx.Tx, id int64) error {
	all, err := readIncidents(ctx, tx, `select `+incidentColumns+` from fenceline.incidents i where i.id = $1`, id)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return ErrNoIncident
	}
	v.Incident = all[0]
	if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&v.Now); err != nil {
		return err
	}
	v.Now = v.Now.UTC()
	v.Similar, err = readIncidents(ctx, tx, `select `+incidentColumns+` from fenceline.incidents i where i.rule = $1 and i.scope = $2 and i.id < $3 order by i.id desc limit $4`,
		v.Incident.Rule, v.Incident.Scope, id, maxSimilar)
	if err != nil {
		return err
	}
	if v.Merged, err = readIncidents(ctx, tx, `select `+incidentColumns+` from fenceline.incidents i where i.merged_into = $1 order by i.id limit $2`, id, maxActive); err != nil {
		return err
	}
	if v.Incident.State != IncidentResolved {
		if v.Others, err = readIncidents(ctx, tx, `select `+incidentColumns+` from fenceline.incidents i where i.state <> 'resolved' and i.id <> $1 order by i.id desc limit $2`, id, maxActive); err != nil {
			return err
		}
	}
	if v.Touched, err = countIncidentJobs(ctx, tx, id); err != nil {
		return err
	}
	if err := v.readEntries(ctx, tx); err != nil {
		return err
	}
	if err := v.readMinutes(ctx, tx); err != nil {
		return err
	}
	if err := v.readOperations(ctx, tx); err != nil {
		return err
	}
	slices.SortStableFunc(v.Line, func(a, b IncidentLine) int { return a.At.Compare(b.At) })
	return nil
}

// ids are the incident and those that are part of it.
func (v *IncidentView) ids() []int64 {
	all := []int64{v.Incident.ID}
	for _, m := range v.Merged {
		all = append(all, m.ID)
	}
	return all
}

func (v *IncidentView) readEntries(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select e.at, e.incident_id, e.action, e.actor, e.reason, e.until from fenceline.incident_entries e
		where e.incident_id = any ($1) order by e.id desc limit $2`, v.ids(), maxEntries+1)
	if err != nil {
		return err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l IncidentLine, err error) {
		var until *time.Time
		err = row.Scan(&l.At, &l.Of, &l.Action, &l.Actor, &l.Reason, &until)
		l.At, l.Until = l.At.UTC(), orZero(until)
		return l, err
	})
	if len(lines) > maxEntries {
		lines, v.More = lines[:maxEntries], true
	}
	slices.Reverse(lines)
	v.Line = lines
	return err
}

// maxLineMinutes is how many counted minutes a timeline shows: the newest.
const maxLineMinutes = 120

// readMinutes takes what the log says from its counts, from a little before the
// incident was opened on.
func (v *IncidentView) readMinutes(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
select r.minute, r.type::text, sum(r.n)::bigint from fenceline.rollups r
where r.minute >= $2::timestamptz - interval '5 minutes' and r.minute <= $3 and r.queue <> $4
  and exists (select from fenceline.incidents p where p.id = any ($1) and r.type::text = any (p.types)
    and (p.job_id is null or p.fingerprint <> '') -- counts know no single job
    and (p.kind = '' or r.kind = p.kind) and (p.queue = '' or r.queue = p.queue))
group by 1, 2 order by 1 desc limit $5`, v.ids(), v.Incident.OpenedAt, v.end(), DrillQueue, maxLineMinutes)
	if err != nil {
		return err
	}
	var l IncidentLine
	_, err = pgx.ForEachRow(rows, []any{&l.At, &l.Type, &l.N}, func() error {
		l.At = l.At.UTC()
		v.Line = append(v.Line, l)
		return nil
	})
	return err
}
