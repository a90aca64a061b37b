package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// baseline begins the history where the removed part of the log ended. Of the
// attempts before it, the last one's lane is kept; of that one, all but its
// renewals and its refused writes.
func (h *History) baseline(t Transition) {
	d := t.Detail
	h.State, h.Generation, h.Revision = t.To, t.Generation, t.Revision
	h.Attempts, h.MaxAttempts = t.Attempts, t.MaxAttempts
	h.AttemptID, h.AttemptEnd, h.LeaseUntil, h.RunAt = t.AttemptID, d.AttemptEnd, t.LeaseUntil, t.RunAt
	h.FinishedAt, h.ResultBy, h.ResultGen, h.FollowUps = d.FinishedAt, d.ResultBy, d.ResultGen, d.FollowUps
	h.Erased, h.priority = d.Erased, d.Priority
	if d.ArgsVersion != 0 { // there is none in those of older programs
		h.ArgsVersion, h.ArgsFrom = d.ArgsVersion, d.ArgsFrom
	}
	h.first, h.count, h.Before = orElse(d.First, t.At), d.Count, orElse(d.Before, t.At)
	if t.AttemptID == uuid.Nil {
		return
	}
	lane := h.lane(t)
	lane.ClaimedAt, lane.LeaseUntil = orElse(d.ClaimedAt, t.At), t.LeaseUntil
	lane.End, lane.EndedAt, lane.Reason = d.AttemptEnd, d.EndedAt, t.Reason
}

// Baseline is the transition that can take the place of all that was folded: a
// fold that starts at it goes on alike. It has the id of the last of them, so
// that it stands where they stood. Before is until when they are removed.
func (h *History) Baseline(before time.Time) Transition {
	t := Transition{
		ID: h.Last, JobID: h.JobID, Kind: h.kind, Queue: h.queue, Type: TypeBaseline,
		To: h.State, Generation: h.Generation, Revision: h.Revision, Attempts: h.Attempts, MaxAttempts: h.MaxAttempts,
		AttemptID: h.AttemptID, LeaseUntil: h.LeaseUntil, RunAt: h.RunAt,
		Detail: Detail{
			First: h.first, Before: before, Count: h.count, AttemptEnd: h.AttemptEnd, FinishedAt: h.FinishedAt,
			ResultBy: h.ResultBy, ResultGen: h.ResultGen, FollowUps: h.FollowUps,
			Erased: h.Erased, Priority: h.priority,
		},
	}
	if h.ArgsVersion > 1 {
		t.Detail.ArgsVersion, t.Detail.ArgsFrom = h.ArgsVersion, h.ArgsFrom
	}
	if i, known := h.lanes[h.AttemptID]; known {
		lane := h.Lanes[i]
		t.Worker, t.Reason = lane.Worker, lane.Reason
		t.Detail.ClaimedAt, t.Detail.EndedAt = lane.ClaimedAt, lane.EndedAt
	}
	return t
}

func orElse(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}

// A job with transitions of an old day was enqueued before that day's end. Ids
// follow the time of enqueueing, give or take the length of a statement.
const baselineJobsSQL = `
with looked as materialized (
  select j.id, j.created_at from fenceline.jobs j where j.id > $1 order by j.id limit $3
), concerned as materialized (
  select l.id from looked l
  where exists (select from fenceline.transitions t where t.job_id = l.id and t.at < $2 offset 0)
  order by l.id
  limit $4
), sums as (
  select (select count(*) from looked) as looked, (select max(id) from looked) as furthest,
         (select max(created_at) from looked) as newest,
         (select array_agg(id) from concerned) as concerned, (select max(id) from concerned) as last
)
select coalesce(s.concerned, '{}'),
       case when cardinality(s.concerned) = $4 then s.last
            when s.looked = $3 and s.newest < $2 + interval '1 hour' then s.furthest end
from sums s`

// writeBaselines writes those of the next jobs.
func (p pass) writeBaselines(ctx context.Context, tx pgx.Tx) error {
	// It holds no row until it writes.
	if _, err := tx.Exec(ctx, "set local statement_timeout = '5min'; set local idle_in_transaction_session_timeout = '5min'"); err != nil {
		return err
	}
	var jobs []int64
	var after *int64
	err := tx.QueryRow(ctx, baselineJobsSQL, *p.after, *p.before, baselineLook, baselineMost).Scan(&jobs, &after)
	if err != nil {
		return err
	}
	baselines, err := foldBaselines(ctx, tx, jobs, *p.before)
	if err != nil {
		return err
	}
	if err := insertBaselines(ctx, tx, baselines, *p.before); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "update fenceline.retention set log_after = $1", after)
	return err
}

// foldBaselines folds what the log holds of these jobs before a time, one job
// in memory at a time.
func foldBaselines(ctx context.Context, tx pgx.Tx, jobs []int64, before time.Time) ([]Transition, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `select `+transitionColumns+` from fenceline.transitions t
		where t.job_id = any ($1) and t.at < $2 order by t.job_id, t.id`, jobs, before)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Transition
	var h History
	for rows.Next() {
		t, err := scanTransition(rows)
		if err != nil {
			return nil, err
		}
		if h.Last != 0 && t.JobID != h.JobID {
			out = append(out, h.Baseline(before))
			h = History{}
		}
		h.Add(t)
	}
	if h.Last != 0 {
		out = append(out, h.Baseline(before))
	}
	return out, rows.Err()
}

// A baseline must not outlive a later transition of its job, nor be removed
// much sooner: of a job that has been at rest since, it lies in the present day,
// and will be there for as long as anything that is written now. An hour's
// distance from midnight is more than any verb takes that has not committed.
const insertBaselinesSQL = `
insert into fenceline.transitions
  (id, job_id, at, generation, revision, lease_until, run_at, attempt_id, type, to_state,
   attempts_used, max_attempts, kind, queue, worker, reason, detail)
select b.id, b.job_id,
       case when exists (select from fenceline.transitions t where t.job_id = b.job_id and t.at >= $2 offset 0) then $2
            else greatest($2, date_trunc('day', now() - interval '1 hour', 'UTC')) end,
       b.generation, b.revision, b.lease_until, b.run_at, b.attempt_id, 'baseline', b.to_state,
       b.attempts_used, b.max_attempts, b.kind, b.queue, b.worker, b.reason, b.detail
from jsonb_to_recordset($1) as b (
  id bigint, job_id bigint, generation bigint, revision bigint, lease_until timestamptz, run_at timestamptz,
  attempt_id uuid, to_state fenceline.job_state, attempts_used integer, max_attempts integer,
  kind text, queue text, worker text, reason text, detail jsonb)`

type baselineRow struct {
	ID          int64     `json:"id"`
	JobID       int64     `json:"job_id"`
	Generation  int64     `json:"generation,omitzero"`
	Revision    int64     `json:"revision"`
	LeaseUntil  time.Time `json:"lease_until,omitzero"`
	RunAt       time.Time `json:"run_at,omitzero"`
	AttemptID   uuid.UUID `json:"attempt_id,omitzero"`
	To          State     `json:"to_state,omitempty"`
	Attempts    int       `json:"attempts_used"`
	MaxAttempts int       `json:"max_attempts"`
	Kind        string    `json:"kind"`
	Queue       string    `json:"queue"`
	Worker      string    `json:"worker,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Detail      Detail    `json:"detail"`
}

func insertBaselines(ctx context.Context, tx pgx.Tx, baselines []Transition, before time.Time) error {
	if len(baselines) == 0 {
		return nil
	}
	rows := make([]baselineRow, len(baselines))
	for i, t := range baselines {
		rows[i] = baselineRow{t.ID, t.JobID, t.Generation, t.Revision, t.LeaseUntil, t.RunAt, t.AttemptID, t.To,
			t.Attempts, t.MaxAttempts, t.Kind, t.Queue, t.Worker, t.Reason, t.Detail}
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertBaselinesSQL, raw, before)
	return err
}
