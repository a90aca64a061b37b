package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bounds of what a page about queues looks at, so that what it costs grows with
// neither the jobs nor the log.
const (
	maxQueues    = 200    // queues on one page
	recentBound  = 20000  // newest transitions among which those of a worker are looked for
	startsLook   = 5000   // newest transitions among which claims are looked for
	startsBound  = 1000   // newest claims of those whose time to start is told
	dueBound     = 10000  // scheduled and retryable jobs, the next due ones
	backlogTotal = 200000 // waiting jobs counted over all queues; at most countBound of each
	headBound    = 100    // jobs at the head of each queue whose kinds are looked at
)

// RecentWindow is how far back throughput and times to start reach: the first by
// whole minutes, the second at most.
const RecentWindow = 15 * time.Minute

// RecentSteps is the number of parts of a [Recent]'s series.
const RecentSteps = 15

// Queue is what a page shows of one queue.
type Queue struct {
	Name    string
	Control Control
	Waiting Count     // available
	Oldest  time.Time // since when the one waits that was due first; zero when none waits
	Later   int64     // scheduled or retryable, among the next 10,000 due of all queues
	Running int64     // of at most 10,000 of all queues
	Workers int       // live ones that claim from it
	Slots   int       // of those together
	Recent  Recent
}

// Recent is what happened of late, told from the counts of the log: see
// [Queues.Since].
type Recent struct {
	Counts
	Series           []int64       // completed, in [RecentSteps] even parts of the time; nil when nothing was
	Start50, Start95 time.Duration // from due to claimed: half, and 95 of 100, took at most this long
	Starts           int64         // how many of the newest claims that is told from
}

// Kind is what a page shows of one kind.
type Kind struct {
	Name    string
	Control Control
	Running int64
	Workers int // live ones that handle it and claim
	Waiting int64
	Recent  Recent
	handled bool // by a live worker, drained ones too
}

// Queues is what the page of all queues shows. Every time is the database's
// clock.
type Queues struct {
	Now       time.Time
	All       Control // what is set for everything
	Queues    []Queue // by name
	Kinds     []Kind  // by name; Waiting is among the first 100 of each queue
	More      bool    // there are more queues than are shown
	Since     time.Time
	Cut       bool // more happened than is counted yet, and the newest is missing: see [Minutes.Cut]
	Unhandled []Unhandled
	Workers   int // live ones
}

// Unhandled is work that waits at the head of a queue while no live worker would
// claim it.
type Unhandled struct {
	Queue, Kind string
	Jobs        int64     // among the first 100 of the queue
	Oldest      time.Time // since when the first of them waits
	NoQueue     bool      // no live worker works the queue at all
	Draining    bool      // one would, but is drained
}

// Queues reads the page of all queues. Each of its parts is bounded.
func (s *Store) Queues(ctx context.Context) (Queues, error) { return s.queues(ctx, "") }

func (s *Store) queues(ctx context.Context, only string) (Queues, error) {
	r := queueReading{only: only, queues: map[string]*Queue{}, kinds: map[string]*Kind{}}
	err := s.snapshot(ctx, r.controls, r.running, r.waiting, r.later, r.recent, r.starts, r.workers, r.heads)
	if err != nil {
		return Queues{}, fmt.Errorf("read the queues: %w", err)
	}
	return r.page(), nil
}

// queueReading gathers a page from its parts.
type queueReading struct {
	only    string // one queue's name; empty for all
	out     Queues
	queues  map[string]*Queue
	kinds   map[string]*Kind
	working []Worker
	seen    []head
}

func (r *queueReading) queue(name string) *Queue {
	q, known := r.queues[name]
	if !known {
		q = &Queue{Name: name, Control: Control{Scope: ScopeQueue, Name: name}}
		if r.only == "" || r.only == name {
			r.queues[name] = q
		}
	}
	return q
}

func (r *queueReading) kind(name string) *Kind {
	k, known := r.kinds[name]
	if !known {
		k = &Kind{Name: name, Control: Control{Scope: ScopeKind, Name: name}}
		r.kinds[name] = k
	}
	return k
}

// controls reads what is in force, and for everything and for the one queue also
// what is not any more: its revision is what the next change is bound to.
func (r *queueReading) controls(ctx context.Context, tx pgx.Tx) error {
	r.out.All = Control{Scope: ScopeAll}
	for _, sql := range []string{
		`select ` + controlColumns + ` from fenceline.controls c where c.key in ('all:', 'queue:' || $1::text) limit $2`,
		`select ` + controlColumns + ` from fenceline.controls c where c.in_force and c.scope in ('kind', 'queue') and $1::text is not null order by c.key limit $2`,
	} {
		rows, err := tx.Query(ctx, sql, r.only, maxControls)
		if err != nil {
			return err
		}
		set, err := pgx.CollectRows(rows, scanControl)
		if err != nil {
			return err
		}
		for _, c := range set {
			r.set(c)
		}
	}
	return nil
}

func (r *queueReading) set(c Control) {
	switch c.Scope {
	case ScopeAll:
		r.out.All = c
	case ScopeQueue:
		r.queue(c.Name).Control = c
	case ScopeKind:
		r.kind(c.Name).Control = c
	}
}

const runningSQL = `
select s.queue, s.kind, count(*)
from (select j.queue, j.kind from fenceline.jobs j where j.state = 'running' limit $1) s
group by 1, 2`

func (r *queueReading) running(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, runningSQL, countBound)
	if err != nil {
		return err
	}
	var queue, kind string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&queue, &kind, &n}, func() error {
		if r.only != "" && r.only != queue {
			return nil
		}
		r.queue(queue).Running += n
		r.kind(kind).Running += n
		return nil
	})
	return err
}

// waitingQueuesSQL begins a statement with the queues in which jobs wait, or with
// the one that $1 names, one step in the index that claims use each.
const waitingQueuesSQL = `
with recursive waiting (queue) as (
  (select j.queue from fenceline.jobs j where j.state = 'available' and j.queue >= $1::text order by j.queue limit 1)
  union all
  select (select j.queue from fenceline.jobs j where j.state = 'available' and j.queue > w.queue order by j.queue limit 1)
  from waiting w where w.queue is not null and $1 = ''
)`

// waitingSQL goes from one queue to the next, and within each from one priority
// to the next, along the index that claims use.
const waitingSQL = waitingQueuesSQL + `, named as materialized (
  select w.queue from waiting w where w.queue is not null and $1 in ('', w.queue) limit $2
), bound as materialized (
  select greatest(1000, least($3, $4 / greatest(count(*), 1))) as most from named
)
select n.queue, b.most,
       (select count(*) from (
          select from fenceline.jobs j where j.state = 'available' and j.queue = n.queue limit b.most + 1) c),
       (with recursive level (priority, run_at) as (
          (select j.priority, j.run_at from fenceline.jobs j where j.state = 'available' and j.queue = n.queue
           order by j.priority, j.run_at limit 1)
          union all
          select f.priority, f.run_at from level l cross join lateral (
            select j.priority, j.run_at from fenceline.jobs j
            where j.state = 'available' and j.queue = n.queue and j.priority > l.priority
            order by j.priority, j.run_at limit 1) f
        )
        select min(l.run_at) from (select * from level limit 100) l)
from named n cross join bound b`

func (r *queueReading) waiting(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, waitingSQL, r.only, maxQueues+1, countBound, backlogTotal)
	if err != nil {
		return err
	}
	var queue string
	var most, n int64
	var oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&queue, &most, &n, &oldest}, func() error {
		q := r.queue(queue)
		q.Waiting, q.Oldest = Count{N: min(n, most), Capped: n > most}, orZero(oldest)
		return nil
	})
	return err
}

const laterSQL = `
select s.queue, count(*)
from (select j.queue from fenceline.jobs j where j.state in ('scheduled', 'retryable') order by j.run_at limit $1) s
group by 1`

func (r *queueReading) later(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, laterSQL, dueBound)
	if err != nil {
		return err
	}
	var queue string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&queue, &n}, func() error { r.queue(queue).Later = n; return nil })
	return err
}

func (r *queueReading) page() Queues {
	out := &r.out
	for _, q := range r.queues {
		for _, w := range r.working {
			if slots, works := w.Queues[q.Name]; works && w.Claims() {
				q.Workers++
				q.Slots += slots
			}
		}
		out.Queues = append(out.Queues, *q)
	}
	for _, k := range r.kinds {
		for _, w := range r.working {
			if _, handles := w.Kinds[k.Name]; handles && w.Claims() {
				k.Workers++
			}
		}
		out.Kinds = append(out.Kinds, *k)
	}
	slices.SortFunc(out.Queues, func(a, b Queue) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	if len(out.Queues) > maxQueues {
		out.Queues, out.More = out.Queues[:maxQueues], true
	}
	if len(out.Kinds) > maxQueues {
		out.Kinds, out.More = out.Kinds[:maxQueues], true
	}
	out.Unhandled = unhandled(r.seen, r.working)
	return *out
}
