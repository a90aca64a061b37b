package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// guard opens the statement of every verb of an attempt: $1 job ids, $2 attempt
// ids, $3 generations, $4 the op, $5 the worker. It locks the rows in the order
// of their ids, reads the clock only once every lock is held, and decides on
// the locked values alone: a wait behind another session can neither hide a
// change nor stretch a deadline. What the verdict refuses is recorded here, so
// that no verb can forget it; a verb adds the change for what is accepted.
//
// A repeat is an attempt's own verb, offered again after its answer was lost.
// The locked row knows the last attempt's end and the result's owner; the log
// knows the older ones, and is asked by a function that sees what was committed
// while the statement waited.
const guard = `
with offered as materialized (
  select o.n, o.id, o.attempt_id, o.generation
  from unnest($1::bigint[], $2::uuid[], $3::bigint[]) with ordinality as o (id, attempt_id, generation, n)
), locked as materialized (
  select j.id, j.kind, j.queue, j.state, j.generation, j.revision, j.attempt_id, j.attempt_end,
         j.lease_until, j.run_at, j.attempts_used, j.max_attempts, j.result_attempt_id, j.result_generation
  from fenceline.jobs j
  where j.id = any ($1::bigint[])
  order by j.id
  for no key update
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from locked
), verdict as materialized (
  select o.n, o.id, o.attempt_id, o.generation, c.at,
         l.kind, l.queue, l.state, l.revision, l.run_at, l.attempts_used, l.max_attempts, l.generation as current,
         case
           when l.id is null then 'unknown_job'
           when l.attempt_id = o.attempt_id
            and l.generation = o.generation
            and l.state = 'running'
            and l.lease_until > c.at then 'accepted'
           when l.attempt_id = o.attempt_id and l.generation = o.generation
            and l.attempt_end::text = ended.word then 'repeated'
           when $4 = 'complete' and l.result_attempt_id = o.attempt_id
            and l.result_generation = o.generation then 'repeated'
           when l.generation <> o.generation and ended.word is not null
            and fenceline.attempt_did(o.id, o.attempt_id, o.generation, ended.word::fenceline.transition_type) then 'repeated'
           when l.generation <> o.generation or l.attempt_id is distinct from o.attempt_id then 'superseded'
           when l.state = 'terminated' or l.attempt_end = 'terminated' then 'terminated'
           when l.state = 'running' or l.attempt_end = 'expired' then 'lease_expired'
           else 'already_ended'
         end as verdict
  from offered o
  cross join clock c
  cross join (select case $4 when 'complete' then 'completed' when 'fail' then 'failed' when 'release' then 'released' end as word) ended
  left join locked l on l.id = o.id
), refused as (
  insert into fenceline.transitions
    (job_id, at, generation, attempt_id, type, op, kind, queue, worker, reason, detail)
  select v.id, v.at, v.generation, v.attempt_id, 'rejected', $4::text::fenceline.attempt_op, v.kind, v.queue, $5, v.verdict,
         jsonb_build_object('current', v.current)
  from verdict v
  where v.verdict not in ('accepted', 'repeated', 'unknown_job')
), unknown as (
  insert into fenceline.unknown_writes (at, job_id, generation, attempt_id, op, worker)
  select v.at, v.id, v.generation, v.attempt_id, $4::text::fenceline.attempt_op, $5
  from verdict v
  where v.verdict = 'unknown_job'
)`

// notified tells every listener which transaction to read. It is one
// notification a transaction however many rows were written.
const notified = `(select pg_notify('fenceline_transitions', pg_current_xact_id()::text)::text is not null)`

// workNotified tells every pool that a job became available.
const workNotified = `(select pg_notify('fenceline_work', '')::text is not null)`

// custom is from how many members on a batch is planned for its own size: the
// plan for "some array" would join large ones by nested loops, and the one for
// "some limit" expects a tenth of the table.
const custom = 16

// planned puts the way of planning before the arguments of a statement about n
// members. Small ones keep a plan at the server, which saves planning.
func planned(n int, args ...any) []any {
	if n < custom {
		return args
	}
	return append([]any{pgx.QueryExecModeCacheDescribe}, args...)
}

// Outcome is what became of one member of a batch.
type Outcome struct {
	Lease    Lease
	State    State // the job's state after it; empty when Err is set
	Repeated bool  // this attempt had done the same before; nothing was changed
	Err      error // nil, a *StaleError, or an *InvalidError for what could not be offered
	Linked   int   // complete: follow-ups that an earlier result had already written
}

// offer is a batch on its way to the database: the guard's five parameters.
type offer struct {
	op     Op
	worker string
	leases []Lease
	at     []int // for each member of the caller's batch, its place in leases
}

func newOffer(op Op, worker string, n int, lease func(int) Lease) *offer {
	o := &offer{op: op, worker: worker, leases: make([]Lease, 0, n), at: make([]int, n)}
	type identity struct {
		job, generation int64
		attempt         uuid.UUID
	}
	seen := make(map[identity]int, n)
	for i := range n {
		l := lease(i)
		id := identity{l.JobID, l.Generation, l.AttemptID}
		place, twice := seen[id]
		if !twice {
			place = len(o.leases)
			seen[id] = place
			o.leases = append(o.leases, l)
		}
		o.at[i] = place
	}
	return o
}

// first tells which member of the caller's batch stands at each place.
func (o *offer) first() []int {
	members := make([]int, len(o.leases))
	for i := len(o.at) - 1; i >= 0; i-- {
		members[o.at[i]] = i
	}
	return members
}

func (o *offer) args(more ...any) []any {
	ids := make([]int64, len(o.leases))
	attempts := make([][16]byte, len(o.leases))
	generations := make([]int64, len(o.leases))
	for i, l := range o.leases {
		ids[i], attempts[i], generations[i] = l.JobID, l.AttemptID, l.Generation
	}
	return planned(len(ids), append([]any{ids, attempts, generations, string(o.op), o.worker}, more...)...)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// run sends the statement and returns the outcomes in the caller's order. The
// statement's columns are n, verdict, current generation, state, deadline and a
// notification's mark.
func (o *offer) run(ctx context.Context, q querier, sql string, more ...any) ([]Outcome, error) {
	rows, err := q.Query(ctx, sql, o.args(more...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.op, err)
	}
	defer rows.Close()
	found := make([]Outcome, len(o.leases))
	for rows.Next() {
		var (
			n       int64
			word    string
			current *int64
			state   *State
			until   *time.Time
			mark    *bool
		)
		if err := rows.Scan(&n, &word, &current, &state, &until, &mark); err != nil {
			return nil, fmt.Errorf("%s: %w", o.op, err)
		}
		lease := o.leases[n-1]
		if until != nil {
			lease.Until = until.UTC()
		}
		found[n-1] = o.outcome(lease, word, current, state)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.op, err)
	}
	return o.spread(found), nil
}

func (o *offer) outcome(lease Lease, word string, current *int64, state *State) Outcome {
	out := Outcome{Lease: lease}
	switch word {
	case "accepted", "repeated":
		out.Repeated = word == "repeated"
		if state != nil {
			out.State = *state
		}
	default:
		stale := &StaleError{Lease: lease, Op: o.op, Reason: Reason(word)}
		if current != nil {
			stale.Current = *current
		}
		out.Err = stale
	}
	return out
}

func (o *offer) spread(found []Outcome) []Outcome {
	out := make([]Outcome, len(o.at))
	for i, place := range o.at {
		out[i] = found[place]
	}
	return out
}
