package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// KindLease is a kind that the claimer handles, with the length of its leases.
type KindLease struct {
	Kind  string
	Lease time.Duration
}

// ClaimParams says what a worker can start at once.
type ClaimParams struct {
	Worker     string // the process, with a part of its own for each start
	Queue      string
	Kinds      []KindLease
	AttemptIDs []uuid.UUID // fresh ones; at most as many jobs are claimed
	Held       *Held       // when given, told what an operator's control kept from being claimed
}

// Claimed is one job that the claimer now holds.
type Claimed struct {
	Lease       Lease
	Kind        string
	Queue       string
	Key         string
	Args        json.RawMessage
	Attempts    int // used, this one included
	MaxAttempts int
	Tags        []string
	CreatedAt   time.Time
	RunAt       time.Time // when it was due
	ClaimedAt   time.Time
	Trace       string // the enqueuer's traceparent; empty when there is none
}

const claimedColumns = `j.id, j.attempt_id, j.generation, j.lease_until, j.kind, j.queue, coalesce(j.key, ''),
  j.args, j.attempts_used, j.max_attempts, j.tags, j.created_at, j.run_at, j.claimed_at, coalesce(j.trace, '')`

// The guard of a claim is the claim index: available, in the queue, of a kind
// that is handled. The kind is asked for by a function, of which the planner
// thinks that it is true of nearly all: it takes "none of some array" for false
// where there is but one kind, and would then read and sort all that waits
// rather than go through the index in its order. The limit stays in a CTE of its own, where the planner
// cannot lock more rows than it keeps. It is then taken through an array: "some
// limit" is expected to be a tenth of the table, which would all be read to join
// that many, and "some array" to be short.
//
// The budget is written as it was locked. An update is first tried on the row of
// the statement's snapshot, and a constraint would compare the new count with
// the budget from before an operator raised it.
//
// What operators have set is asked first, in the same statement: see
// fenceline.admit. A claim that a rate counts says what it took.
const claimSQL = `
with admitted as materialized (
  select a.*, array(select k from unnest($2::text[]) k where k <> all (a.barred)) as kinds
  from fenceline.admit($1, $2::text[], $5, $6) a
), picked as materialized (
  select j.id, j.kind, j.queue, j.generation, j.revision, j.attempts_used, j.max_attempts, j.run_at
  from fenceline.jobs j
  where j.state = 'available'
    and j.queue = $1
    and array_position((select a.kinds from admitted a), j.kind) is not null
  order by j.priority, j.run_at, j.id
  limit (select a.allowed from admitted a)
  for no key update skip locked
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from picked
), claim as materialized (
  select p.*, c.at, ($4::uuid[])[row_number() over ()] as attempt_id,
         ($3::bigint[])[array_position($2::text[], p.kind)] as lease
  from unnest(array (select p from picked p)) as p
    (id bigint, kind text, queue text, generation bigint, revision bigint, attempts_used integer, max_attempts integer, run_at timestamptz)
  cross join clock c
), changed as (
  update fenceline.jobs j
  set state = 'running', generation = c.generation + 1, revision = c.revision + 1,
      attempt_id = c.attempt_id, attempt_end = null,
      attempts_used = c.attempts_used + 1, max_attempts = c.max_attempts,
      claimed_at = c.at, lease_until = c.at + c.lease * interval '1 microsecond', worker = $5,
      finished_at = null
  from claim c
  where j.id = c.id
  returning ` + claimedColumns + `
), logged as (
  insert into fenceline.transitions
    (job_id, at, generation, revision, lease_until, attempt_id, type, from_state, to_state,
     attempts_used, max_attempts, kind, queue, worker)
  select c.id, c.at, c.generation + 1, c.revision + 1, c.at + c.lease * interval '1 microsecond', c.attempt_id,
         'claimed', 'available', 'running', c.attempts_used + 1, c.max_attempts, c.kind, c.queue, $5
  from claim c
)
select a.allowed, coalesce(a.held, ''), a."full", coalesce(extract(epoch from a.again), 0)::float8,
       (select fenceline.spend(m.metered, c.at, array (select p.kind from picked p)) from admitted m, clock c where m.metered is not null and c.rows > 0),
       j.*, case when j.id is not null then ` + notified + ` end
from admitted a
left join changed j on true`

// Claim takes up to len(AttemptIDs) available jobs of one queue, in the order
// of priority, due time and id. Each claim raises its job's generation by one
// and charges one attempt. None is no error: there is nothing to do, or another
// claimer holds what there is. When the answer of the commit was lost, Claim
// looks for its attempt ids and returns what it finds; what it misses expires.
func (s *Store) Claim(ctx context.Context, p ClaimParams) ([]Claimed, error) {
	if len(p.AttemptIDs) == 0 || len(p.Kinds) == 0 {
		return nil, nil
	}
	kinds, leases := make([]string, len(p.Kinds)), make([]int64, len(p.Kinds))
	for i, k := range p.Kinds {
		if k.Lease < time.Microsecond {
			return nil, &InvalidError{fmt.Sprintf("kinds[%d].lease", i), "must be at least a microsecond"}
		}
		kinds[i], leases[i] = k.Kind, k.Lease.Microseconds()
	}
	rows, err := s.pool.Query(ctx, claimSQL, planned(len(p.AttemptIDs), p.Queue, kinds, leases, rawIDs(p.AttemptIDs), p.Worker, len(p.AttemptIDs))...)
	if err != nil {
		return s.recoverClaim(ctx, p, err)
	}
	claimed, held, err := collectClaimed(rows)
	if err != nil {
		return s.recoverClaim(ctx, p, err)
	}
	if p.Held != nil {
		*p.Held = held
		p.Held.Wanted = len(p.AttemptIDs)
	}
	return claimed, nil
}

// recoverClaim finds out what became of a claim whose answer did not arrive.
func (s *Store) recoverClaim(ctx context.Context, p ClaimParams, cause error) ([]Claimed, error) {
	cause = fmt.Errorf("claim: %w", cause)
	var refused *pgconn.PgError
	if errors.As(cause, &refused) || pgconn.SafeToRetry(cause) || ctx.Err() != nil {
		return nil, cause
	}
	found, err := s.ClaimedBy(ctx, p.AttemptIDs)
	if err != nil || len(found) == 0 {
		return nil, cause
	}
	return found, nil
}

// ClaimedBy returns the jobs that these attempts hold now.
func (s *Store) ClaimedBy(ctx context.Context, attempts []uuid.UUID) ([]Claimed, error) {
	rows, err := s.pool.Query(ctx, `select `+claimedColumns+`, false
		from fenceline.jobs j where j.state = 'running' and j.attempt_id = any ($1)`, rawIDs(attempts))
	if err != nil {
		return nil, fmt.Errorf("look for claims: %w", err)
	}
	return pgx.CollectRows(rows, scanClaimed)
}

// rawIDs gives ids in a type of the driver's own. An id that has methods for
// database/sql is sent and read as text, which took a quarter of the client's
// time.
func rawIDs(ids []uuid.UUID) [][16]byte {
	all := make([][16]byte, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}

func scanClaimed(row pgx.CollectableRow) (Claimed, error) {
	var c Claimed
	var mark bool
	err := row.Scan(&c.Lease.JobID, (*[16]byte)(&c.Lease.AttemptID), &c.Lease.Generation, &c.Lease.Until, &c.Kind, &c.Queue, &c.Key,
		&c.Args, &c.Attempts, &c.MaxAttempts, &c.Tags, &c.CreatedAt, &c.RunAt, &c.ClaimedAt, &c.Trace, &mark)
	c.Lease.Until, c.CreatedAt = c.Lease.Until.UTC(), c.CreatedAt.UTC()
	c.RunAt, c.ClaimedAt = c.RunAt.UTC(), c.ClaimedAt.UTC()
	return c, err
}
