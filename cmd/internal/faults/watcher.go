package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/relay"
)

// watcher follows every job of the rig on the live feed, as the console's
// streams do, and keeps what it was shown.
type watcher struct {
	rig   *Rig
	store *store.Store
	relay *relay.Relay
	hub   *events.Hub

	mu       sync.Mutex
	seen     map[int64]shown
	total    int
	doubled  int
	resumed  int   // subscriptions that ended and were made again from where they stood
	newest   int64 // job
	watched  int64 // jobs up to this id
	problems []string
}

// shown is what a watcher knows of a job.
type shown struct {
	last int64 // id of the newest transition
	n    int
}

// block is how many jobs one subscription follows.
const block = 200

func newWatcher(ctx context.Context, r *Rig) (*watcher, error) {
	l, err := relay.New(r.dial(), nil)
	if err != nil {
		return nil, err
	}
	r.onClose(l.Close)
	st, err := r.through(ctx, l)
	if err != nil {
		return nil, err
	}
	r.onClose(st.Close)
	hub := events.NewHub(st, events.Config{
		ReconnectDelay: 100 * time.Millisecond, PingEvery: time.Second, DeadAfter: 2500 * time.Millisecond,
		Reread: 10 * time.Second, Poll: 500 * time.Millisecond, MaxBehind: 20_000, MaxReplay: 100_000,
	})
	return &watcher{rig: r, store: st, relay: l, hub: hub, seen: map[int64]shown{}}, nil
}

// run follows jobs until ctx ends. It begins to follow a block of ids before
// the first of them is given out.
func (w *watcher) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { w.hub.Run(ctx) })
	for ctx.Err() == nil {
		w.mu.Lock()
		newest, watched := w.newest, w.watched
		w.mu.Unlock()
		if newest+2*block > watched {
			all.Go(func() { w.follow(ctx, watched+1) })
			w.mu.Lock()
			w.watched += block
			w.mu.Unlock()
			continue
		}
		rest(ctx, 20*time.Millisecond)
	}
}

// follow keeps one block subscribed: what ends, by an error or by being too
// slow, goes on behind what it has.
func (w *watcher) follow(ctx context.Context, first int64) {
	jobs := make([]int64, block)
	for i := range jobs {
		jobs[i] = first + int64(i)
	}
	for n := 0; ctx.Err() == nil; n++ {
		if n > 0 {
			w.mu.Lock()
			w.resumed++
			w.mu.Unlock()
		}
		after := make(map[int64]int64, block)
		w.mu.Lock()
		for _, id := range jobs {
			after[id] = w.seen[id].last
		}
		w.mu.Unlock()
		sub, err := w.hub.Watch(ctx, jobs, events.From{After: after})
		if err != nil {
			if errors.Is(err, events.ErrTooFar) {
				w.problem("a subscription could not go on: " + err.Error())
			}
			rest(ctx, 50*time.Millisecond)
			continue
		}
		for d := range sub.C {
			w.take(d.Transitions)
		}
	}
}

func (w *watcher) problem(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < maxWrongs {
		w.problems = append(w.problems, text)
	}
}

func (w *watcher) take(all []store.Transition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range all {
		s := w.seen[t.JobID]
		if t.ID <= s.last {
			w.doubled++
			continue
		}
		w.seen[t.JobID] = shown{t.ID, s.n + 1}
		w.total++
		w.newest = max(w.newest, t.JobID)
	}
}

func (w *watcher) shown() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// missed is how many transitions on record were not shown. It waits for the
// feed to catch up.
func (w *watcher) missed(ctx context.Context) (missed int, err error) {
	waited := await(ctx, "the feed has caught up", func() (bool, error) {
		missed, err = w.compare(ctx)
		return missed == 0, err
	})
	if err == nil && missed == 0 {
		return 0, waited
	}
	return missed, err
}

func (w *watcher) compare(ctx context.Context) (int, error) {
	conn, err := w.rig.owner(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, "select job_id, count(*)::int, max(id) from fenceline.transitions group by job_id")
	if err != nil {
		return 0, err
	}
	var id, last int64
	var n, missed int
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = pgx.ForEachRow(rows, []any{&id, &n, &last}, func() error {
		s := w.seen[id]
		if s.n > n || s.n == n && s.last != last {
			return fmt.Errorf("job %d: %d transitions were shown, the last %d; on record are %d, the last %d", id, s.n, s.last, n, last)
		}
		missed += n - s.n
		return nil
	})
	return missed, err
}
