package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// IncidentReport is an incident as it is told afterwards. It holds no payload, no
// result and no error text of users' code.
type IncidentReport struct {
	IncidentView
	Jobs    []Job          // those that it touches, by id, as they are now; at most 200
	Deeds   []IncidentDeed // what operators did with them since, the first one first; at most 100
	Trend   Trend          // what happened around it, in the kinds and queues of its evidence; at most 120 steps
	Refused []Transition   // writes of their attempts that were refused, oldest first; the newest 100
}

// IncidentDeed is what one person did with jobs of an incident, for one reason.
type IncidentDeed struct {
	Action, Actor, Reason string
	Operation             int64  // 0 for jobs that were acted on one by one
	Outcome               string // done, or why it was refused
	Jobs                  int64
	First, Last           time.Time
}

const (
	reportJobs    = 200
	reportLines   = 100
	reportLooked  = 10000 // how many jobs and refusals are looked at for what the report tells of them
	reportedSince = evidenceBefore
)

// IncidentReport reads all that is told of an incident afterwards.
// [ErrNoIncident] when there is none of that id.
func (s *Store) IncidentReport(ctx context.Context, id int64) (r IncidentReport, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) error { return r.read(ctx, tx, id) })
	if err != nil {
		return IncidentReport{}, fmt.Errorf("report on incident %d: %w", id, err)
	}
	return r, nil
}

func (r *IncidentReport) read(ctx context.Context, tx pgx.Tx, id int64) error {
	for _, part := range []func(context.Context, pgx.Tx) error{
		func(ctx context.Context, tx pgx.Tx) error { return r.IncidentView.read(ctx, tx, id) },
		r.readJobs, r.readDeeds, r.readRefused, r.readCharts,
	} {
		if err := part(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func (r *IncidentReport) readJobs(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select `+listColumns+` from (
		  select k.job_id from fenceline.incident_jobs k where k.incident_id = $1 order by k.job_id limit $2) k
		join fenceline.jobs j on j.id = k.job_id order by j.id`, r.Incident.ID, reportJobs)
	if err != nil {
		return err
	}
	r.Jobs, err = pgx.CollectRows(rows, scanJob)
	return err
}

// readDeeds leaves out who looked at a payload: that is in the audit.
func (r *IncidentReport) readDeeds(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
select a.action, a.actor, coalesce(a.reason, ''), coalesce((a.detail ->> 'operation')::bigint, 0), a.outcome, count(distinct a.job_id), min(a.at), max(a.at)
from (select k.job_id from fenceline.incident_jobs k where k.incident_id = $1 order by k.job_id limit $2) k
join fenceline.audit a on a.job_id = k.job_id
where a.at >= $3::timestamptz - $4::interval and a.action not in ('reveal', 'search')
group by 1, 2, 3, 4, 5 order by 7, 1, 2, 3 limit $5`, r.Incident.ID, reportLooked, r.Incident.OpenedAt, reportedSince, reportLines)
	if err != nil {
		return err
	}
	r.Deeds, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d IncidentDeed, err error) {
		err = row.Scan(&d.Action, &d.Actor, &d.Reason, &d.Operation, &d.Outcome, &d.Jobs, &d.First, &d.Last)
		d.First, d.Last = d.First.UTC(), d.Last.UTC()
		return d, err
	})
	return err
}

func (r *IncidentReport) readRefused(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select `+transitionColumns+` from (
		  select * from fenceline.transitions l
		  where l.type = 'rejected' and l.at >= $2::timestamptz - $3::interval and l.at <= $4
		  order by l.at desc limit $5) t
		where exists (select from fenceline.incident_jobs k where k.incident_id = $1 and k.job_id = t.job_id offset 0)
		order by t.at desc limit $6`, r.Incident.ID, r.Incident.OpenedAt, reportedSince, r.end(), reportLooked, reportLines)
	if err != nil {
		return err
	}
	r.Refused, err = pgx.CollectRows(rows, scanTransition)
	slices.Reverse(r.Refused)
	return err
}

// end is up to when the view tells.
func (v IncidentView) end() time.Time {
	if v.Incident.ResolvedAt.IsZero() {
		return v.Now
	}
	return v.Incident.ResolvedAt
}

// IncidentHolder is a stretch of time in which somebody had an incident.
type IncidentHolder struct {
	By       string
	From, To time.Time // To is zero while it lasts
}

// Holders tells who had the incident, from its entries.
func (v IncidentView) Holders() (out []IncidentHolder) {
	for _, l := range v.Line {
		switch l.Action {
		case IncidentAcknowledge, IncidentLapsed, IncidentReopened, IncidentResolve, IncidentQuiet, IncidentMerge:
		default:
			continue
		}
		if l.Of != 0 && l.Of != v.Incident.ID {
			continue
		}
		if n := len(out); n > 0 && out[n-1].To.IsZero() {
			out[n-1].To = l.At
		}
		if l.Action == IncidentAcknowledge {
			out = append(out, IncidentHolder{By: l.Actor, From: l.At})
		}
	}
	return out
}
