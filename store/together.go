package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// enqueueFlights is how many statements of single enqueues are under way at
	// once. Calls beyond them travel together in the next.
	enqueueFlights = 2
	// What one statement takes at most: members, and bytes of args.
	togetherMembers = 200
	togetherBytes   = 1 << 20
	// togetherPatience bounds a statement that several callers wait for.
	togetherPatience = 30 * time.Second
)

// together stores the jobs of concurrent calls of Enqueue. While nobody else
// calls, each goes alone and at once. While statements are under way, those who
// come gather, and the next statement takes all of them: one commit and one
// notification for many jobs. What each caller is told is as of a statement of
// its own: the answer comes after the commit, and a refusal concerns only the
// request it is about.
type together struct {
	mu      sync.Mutex
	waiting []*enqueuing
	flights int
	landed  sync.WaitGroup
}

// enqueuing is a caller that waits for others' statement.
type enqueuing struct {
	request Request
	done    chan struct{}
	out     Enqueued
	err     error
}

// gathers reports whether requests like this one may share a statement: plain
// ones, with nothing that could collide or needs a transaction of its own.
func gathers(r Request) bool {
	r.Kind, r.Args, r.Queue, r.Priority, r.RunAt, r.MaxAttempts, r.Actor = "", nil, "", 0, time.Time{}, 0, ""
	return reflect.ValueOf(&r).Elem().IsZero()
}

// enqueueTogether stores a request that is normal and gathers. A caller that
// gives up while its statement is under way leaves a job behind, or not, as
// always; one whose turn had not come leaves none.
func (s *Store) enqueueTogether(ctx context.Context, r Request) (Enqueued, error) {
	t := &s.together
	t.mu.Lock()
	if t.flights < enqueueFlights && len(t.waiting) == 0 {
		t.flights++
		t.mu.Unlock()
		defer s.land()
		return enqueueNormal(ctx, s.pool, r)
	}
	e := &enqueuing{request: r, done: make(chan struct{})}
	t.waiting = append(t.waiting, e)
	t.mu.Unlock()
	select {
	case <-e.done:
		return e.out, e.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = slices.DeleteFunc(t.waiting, func(other *enqueuing) bool { return other == e })
	return Enqueued{}, fmt.Errorf("enqueue: %w", ctx.Err())
}

// land ends a flight, or has it carry on with those who came meanwhile.
func (s *Store) land() {
	t := &s.together
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.flights--
		return
	}
	t.landed.Go(func() {
		defer s.land()
		s.carry(t.take())
	})
}

// take removes those whose turn it is.
func (t *together) take() []*enqueuing {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(t.waiting), togetherMembers) && (n == 0 || bytes < togetherBytes) {
		bytes += len(t.waiting[n].request.Args)
		n++
	}
	batch := slices.Clone(t.waiting[:n])
	t.waiting = slices.Delete(t.waiting, 0, n)
	return batch
}

// carry stores a batch and answers its callers. When the database refuses the
// statement it is not known on whose account: then each is stored alone.
func (s *Store) carry(batch []*enqueuing) {
	ctx, cancel := context.WithTimeout(context.Background(), togetherPatience)
	defer cancel()
	var err error
	if len(batch) > 1 {
		err = s.insertTogether(ctx, batch)
	}
	var refused *pgconn.PgError
	alone := len(batch) == 1 || errors.As(err, &refused)
	for _, e := range batch {
		if e.err = err; alone {
			e.out, e.err = enqueueNormal(ctx, s.pool, e.request)
		}
		close(e.done)
	}
}

const togetherSQL = `
with clock as materialized (
  select clock_timestamp() as at
), asked as materialized (
  select a.n, nextval('fenceline.jobs_id_seq') as id, a.kind, a.queue, a.args::jsonb as args, a.priority, a.max_attempts,
         coalesce(nullif(a.actor, ''), 'sql:' || session_user) as actor, c.at, coalesce(a.run_at, c.at) as run_at,
         (case when a.run_at > c.at then 'scheduled' else 'available' end)::fenceline.job_state as state
  from clock c
  cross join unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::integer[], $6::timestamptz[], $7::text[])
    with ordinality as a (kind, queue, args, priority, max_attempts, run_at, actor, n)
), made as (
  insert into fenceline.jobs (id, created_at, run_at, state, max_attempts, priority, kind, queue, args, enqueued_by)
  select a.id, a.at, a.run_at, a.state, a.max_attempts, a.priority, a.kind, a.queue, a.args, a.actor
  from asked a
), logged as (
  insert into fenceline.transitions
    (job_id, at, revision, run_at, type, to_state, attempts_used, max_attempts, kind, queue, actor)
  select a.id, a.at, 1, a.run_at, 'enqueued', a.state, 0, a.max_attempts, a.kind, a.queue, a.actor
  from asked a
)
select a.n, a.id, ` + notified + `, case when a.state = 'available' then ` + workNotified + ` end
from asked a`

// insertTogether stores the batch in one statement, and the ids in its members.
func (s *Store) insertTogether(ctx context.Context, batch []*enqueuing) error {
	kinds, queues, args, actors := make([]string, len(batch)), make([]string, len(batch)), make([]string, len(batch)), make([]string, len(batch))
	priorities, budgets, due := make([]int16, len(batch)), make([]int32, len(batch)), make([]*time.Time, len(batch))
	for i, e := range batch {
		r := &e.request
		kinds[i], queues[i], args[i], actors[i] = r.Kind, r.Queue, string(r.Args), r.Actor
		priorities[i], budgets[i] = r.Priority, int32(r.MaxAttempts)
		if !r.RunAt.IsZero() {
			due[i] = &r.RunAt
		}
	}
	rows, err := s.pool.Query(ctx, togetherSQL, kinds, queues, args, priorities, budgets, due, actors)
	if err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	var n, id int64
	var marks [2]*bool
	_, err = pgx.ForEachRow(rows, []any{&n, &id, &marks[0], &marks[1]}, func() error {
		batch[n-1].out = Enqueued{ID: id}
		return nil
	})
	if err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	return nil
}
