package store

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Job is one logical piece of work as its row stands. Every time is the
// database's clock.
type Job struct {
	ID       int64
	Kind     string
	Queue    string
	Key      string // empty when the job has none
	Tags     []string
	Priority int16 // lower goes first

	State       State
	Generation  int64 // the fencing token: grows by one with each claim
	Revision    int64 // grows with every accepted change except renewals
	Attempts    int   // attempts used of the budget
	MaxAttempts int   // the budget

	AttemptID  uuid.UUID // the last claim's; uuid.Nil before the first
	AttemptEnd End       // empty while that attempt runs
	Worker     string    // who made the last claim
	LeaseUntil time.Time // the deadline of the last claim; zero before the first
	ClaimedAt  time.Time

	ResultAttemptID  uuid.UUID // who made the stored result; uuid.Nil when there is none
	ResultGeneration int64

	CreatedAt  time.Time
	RunAt      time.Time
	FinishedAt time.Time // zero while the job is not terminal
	EnqueuedBy string

	ParentID   int64  // the job whose result wrote this follow-up; 0 for none
	FollowName string // unique within the parent

	ArgsVersion int64     // 1 until an operator gives it others
	ErasedAt    time.Time // when its payload was erased; zero when it has args

	ArgsBytes   int // size of the stored text, in bytes
	ResultBytes int // 0 when there is no result
}

// Payload is what a job was given and what it made. It is read apart from the
// row because it can be large and may be shown only by the payload rules.
type Payload struct {
	Args   json.RawMessage
	Result json.RawMessage // nil when no result was accepted
}

const rowColumns = `j.id, j.kind, j.queue, coalesce(j.key, ''), coalesce(j.tags, '{}'), j.priority,
  j.state::text, j.generation, j.revision, j.attempts_used, j.max_attempts,
  j.attempt_id, coalesce(j.attempt_end::text, ''), coalesce(j.worker, ''), j.lease_until, j.claimed_at,
  j.result_attempt_id, coalesce(j.result_generation, 0),
  j.created_at, j.run_at, j.finished_at, coalesce(j.enqueued_by, ''),
  coalesce(j.parent_id, 0), coalesce(j.follow_name, ''), coalesce(j.args_version, 1), j.erased_at`

// A list must not read the payloads: their stored size stands in the row.
const (
	jobColumns  = rowColumns + `, octet_length(j.args::text), coalesce(octet_length(j.result::text), 0)`
	listColumns = rowColumns + `, pg_column_size(j.args), coalesce(pg_column_size(j.result), 0)`
)

// jobRow is a job's row on its way out of the database.
type jobRow struct {
	Job
	lease, claimed, finished, erased *time.Time
	attempt, result                  *uuid.UUID
}

// fields are where the columns of [rowColumns] and the two sizes go.
func (r *jobRow) fields() []any {
	return []any{&r.ID, &r.Kind, &r.Queue, &r.Key, &r.Tags, &r.Priority,
		&r.State, &r.Generation, &r.Revision, &r.Attempts, &r.MaxAttempts,
		&r.attempt, &r.AttemptEnd, &r.Worker, &r.lease, &r.claimed,
		&r.result, &r.ResultGeneration,
		&r.CreatedAt, &r.RunAt, &r.finished, &r.EnqueuedBy,
		&r.ParentID, &r.FollowName, &r.ArgsVersion, &r.erased, &r.ArgsBytes, &r.ResultBytes}
}

func (r *jobRow) job() Job {
	j := r.Job
	j.AttemptID, j.ResultAttemptID = orNil(r.attempt), orNil(r.result)
	j.LeaseUntil, j.ClaimedAt, j.FinishedAt, j.ErasedAt = orZero(r.lease), orZero(r.claimed), orZero(r.finished), orZero(r.erased)
	j.CreatedAt, j.RunAt = j.CreatedAt.UTC(), j.RunAt.UTC()
	return j
}

func scanJob(row pgx.CollectableRow) (Job, error) {
	var r jobRow
	err := row.Scan(r.fields()...)
	return r.job(), err
}

func orNil(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
