package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// head is what waits first in a queue, of one kind.
type head struct {
	queue, kind string
	jobs        int64
	oldest      time.Time
}

// headsSQL looks at the first jobs of each queue. What no worker takes stays in
// front, so that is where it is found.
const headsSQL = waitingQueuesSQL + `
select w.queue, f.kind, count(*), min(f.run_at)
from (select w.queue from waiting w where w.queue is not null and $1 in ('', w.queue) limit $2) w
cross join lateral (
  select j.kind, j.run_at from fenceline.jobs j
  where j.state = 'available' and j.queue = w.queue
  order by j.priority, j.run_at, j.id limit $3
) f
group by 1, 2
order by 1, 2`

func readHeads(ctx context.Context, tx querier, only string) ([]head, error) {
	rows, err := tx.Query(ctx, headsSQL, only, maxQueues, headBound)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h head, err error) {
		err = row.Scan(&h.queue, &h.kind, &h.jobs, &h.oldest)
		h.oldest = h.oldest.UTC()
		return h, err
	})
}

func (r *queueReading) heads(ctx context.Context, tx pgx.Tx) (err error) {
	r.seen, err = readHeads(ctx, tx, r.only)
	for _, h := range r.seen {
		r.kind(h.kind).Waiting += h.jobs
	}
	return err
}

func (r *queueReading) workers(ctx context.Context, tx pgx.Tx) (err error) {
	r.working, err = liveWorkers(ctx, tx)
	r.out.Workers = len(r.working)
	for _, w := range r.working {
		for name := range w.Queues {
			r.queue(name)
		}
		if r.only == "" || w.Queues[r.only] > 0 {
			for name := range w.Kinds {
				r.kind(name).handled = true
			}
		}
	}
	return err
}

// unhandled finds what waits while no live worker would claim it, longest first.
func unhandled(heads []head, live []Worker) (out []Unhandled) {
	for _, h := range heads {
		u := Unhandled{Queue: h.queue, Kind: h.kind, Jobs: h.jobs, Oldest: h.oldest}
		if !u.judge(live) {
			out = append(out, u)
		}
	}
	slices.SortStableFunc(out, func(a, b Unhandled) int { return a.Oldest.Compare(b.Oldest) })
	return out
}

// judge reports whether somebody would claim it, and fills in why nobody does.
func (u *Unhandled) judge(live []Worker) bool {
	u.NoQueue = true
	for _, w := range live {
		if w.Queues[u.Queue] == 0 {
			continue
		}
		u.NoQueue = false
		if _, handles := w.Kinds[u.Kind]; handles {
			if w.Claims() {
				return true
			}
			u.Draining = true
		}
	}
	return false
}

// Unhandled returns what waits at the heads of the queues while no live worker
// would claim it, longest first.
func (s *Store) Unhandled(ctx context.Context) ([]Unhandled, error) {
	var h Home
	if err := s.snapshot(ctx, h.readUnhandled); err != nil {
		return nil, fmt.Errorf("look for work that nobody takes: %w", err)
	}
	return h.Unhandled, nil
}

func (h *Home) readUnhandled(ctx context.Context, tx pgx.Tx) error {
	heads, err := readHeads(ctx, tx, "")
	if err != nil || len(heads) == 0 {
		return err
	}
	live, err := liveWorkers(ctx, tx)
	h.Unhandled = unhandled(heads, live)
	return err
}

// Prospects says what keeps a waiting job from being claimed, or who might claim
// it.
type Prospects struct {
	Nobody   bool      // no live worker would claim it
	NoQueue  bool      // none works its queue
	Draining bool      // one would, but is drained
	Paused   []Control // of everything, its queue or its kind
	Limited  []Control // limits of its queue or its kind
}

// Prospects looks at one job's queue and kind: what is set for them, and who
// handles them now.
func (s *Store) Prospects(ctx context.Context, queue, kind string) (p Prospects, err error) {
	var now time.Time
	err = s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) error {
		live, err := liveWorkers(ctx, tx)
		if err != nil {
			return err
		}
		u := Unhandled{Queue: queue, Kind: kind}
		p.Nobody = !u.judge(live)
		p.NoQueue, p.Draining = p.Nobody && u.NoQueue, p.Nobody && u.Draining
		return tx.QueryRow(ctx, "select clock_timestamp()").Scan(&now)
	}, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select `+controlColumns+` from fenceline.controls c
			where c.key = any ($1) and c.in_force order by c.key`, []string{"all:", "queue:" + queue, "kind:" + kind})
		if err != nil {
			return err
		}
		set, err := pgx.CollectRows(rows, scanControl)
		for _, c := range set {
			if c.PausedAt(now) {
				p.Paused = append(p.Paused, c)
			}
			if c.Limits != (Limits{}) {
				p.Limited = append(p.Limited, c)
			}
		}
		return err
	})
	if err != nil {
		return Prospects{}, fmt.Errorf("look at a job's prospects: %w", err)
	}
	return p, nil
}
