package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// IncidentOperation is an [Operation] on jobs of an incident, as a line of its
// timeline tells of it: the line's action is confirm, pause, resume, cancel, halt
// or finish, its actor whoever did that, and its reason the words for it.
type IncidentOperation struct {
	ID        int64  // 0: the line is about no operation
	Does      Action // what it does with its jobs
	Total     int64  // the jobs of its snapshot, this incident's and others
	DealtWith int64  // of those, when the line was entered
	Changed   int64  // of those, once it has finished
	Pace      int    // jobs a minute; 0 for as fast as it goes, and where the line says nothing of it
}

const (
	maxLineOperations = 200 // lines about operations that a timeline shows: the newest
	lookedOperations  = 200 // jobs of an incident that are asked for what changed them: the oldest
)

// An operation is the incident's when its search names it, from its beginning on,
// or when it changed one of the jobs that are asked. The audit tells of those,
// also once the operation is gone.
const incidentOperationsSQL = `
with mine as materialized (
  select o.id::text as id from fenceline.operations o
  where left(o.filter, 40) = any ($1::text[]) and o.filter = any ($1::text[]) and o.state <> 'preview'
  union
  select a.detail ->> 'operation'
  from (select k.job_id from fenceline.incident_jobs k where k.incident_id = $2 order by k.job_id limit $3) k
  join fenceline.audit a on a.job_id = k.job_id
  where a.at >= $4::timestamptz and a.detail ? 'operation'
)
select a.at, a.action, a.actor, coalesce(a.reason, ''), m.id::bigint, coalesce(a.detail ->> 'does', ''),
       coalesce((a.detail ->> 'total')::bigint, 0), coalesce((a.detail ->> 'dealt_with')::bigint, 0),
       coalesce((a.detail ->> 'changed')::bigint, 0), coalesce((a.detail ->> 'pace')::bigint, 0)
from mine m
join fenceline.audit a on a.detail ->> 'operation' = m.id and a.detail ? 'operation' and a.job_id is null
where a.outcome = 'done' and a.at >= $4::timestamptz
order by a.id desc limit $5`

func (v *IncidentView) readOperations(ctx context.Context, tx pgx.Tx) error {
	filters := make([]string, 0, 1+len(v.Merged))
	for _, id := range v.ids() {
		filters = append(filters, fmt.Sprintf("incident:%d", id))
	}
	rows, err := tx.Query(ctx, incidentOperationsSQL, filters, v.Incident.ID, lookedOperations, v.Incident.OpenedAt.Add(-reportedSince), maxLineOperations+1)
	if err != nil {
		return err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (IncidentLine, error) {
		l := IncidentLine{Of: v.Incident.ID}
		o := &l.Operation
		err := row.Scan(&l.At, &l.Action, &l.Actor, &l.Reason, &o.ID, &o.Does, &o.Total, &o.DealtWith, &o.Changed, &o.Pace)
		l.At = l.At.UTC()
		return l, err
	})
	if len(lines) > maxLineOperations {
		lines, v.More = lines[:maxLineOperations], true
	}
	slices.Reverse(lines)
	v.Line = append(v.Line, lines...)
	return err
}
