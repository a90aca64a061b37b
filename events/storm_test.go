package events_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

// 16 sessions write 800 jobs with 26 transitions each; one watcher follows all
// of them, eight follow one each, and the transactions' ids and numbers end in
// no order at all.
func TestSixteenWritersAndNotOneTransitionIsMissedOrRepeated(t *testing.T) {
	const writers, jobs, renewals = 16, 800, 23
	f := open(t)
	hub := f.live(events.Config{Poll: 24 * time.Hour, MaxBehind: 25_000})
	ids := f.enqueue(jobs)
	all := f.watch(hub, ids, fromStart(ids...))
	var single []*reader
	for _, id := range ids[:8] {
		single = append(single, f.watch(hub, []int64{id}, fromStart(id)))
	}
	begun := time.Now()
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			if err := work(f.ctx, f.Store, 5, renewals); err != nil {
				t.Error(err)
			}
		})
	}
	total := jobs * (renewals + 3)
	all.until(t, "every transition", func() bool { return all.n >= total })
	took := time.Since(begun)
	writing.Wait()
	for _, id := range ids {
		if want := f.stored(id); !slices.Equal(all.seen[id], want) {
			t.Errorf("job %d shows %v, stored is %v", id, all.seen[id], want)
		}
	}
	for i, r := range single {
		r.untilStored(f, ids[i])
	}
	if all.n != total || total < 20_000 {
		t.Errorf("%d transitions were delivered, %d exist", all.n, total)
	}
	t.Logf("%d transitions in %v, %.0f a second", all.n, took.Round(time.Millisecond), float64(all.n)/took.Seconds())
}

// countedReads counts what the hub reads.
type countedReads struct {
	*store.Store
	reads, rows atomic.Int64
}

func (c *countedReads) count(b store.Batch, err error) (store.Batch, error) {
	c.reads.Add(1)
	c.rows.Add(int64(len(b.Transitions)))
	return b, err
}

func (c *countedReads) TransitionsOf(ctx context.Context, xids []uint64, jobs []int64) (store.Batch, error) {
	return c.count(c.Store.TransitionsOf(ctx, xids, jobs))
}

func (c *countedReads) TransitionsAfter(ctx context.Context, cursors []store.Cursor, limit int) (store.Batch, error) {
	return c.count(c.Store.TransitionsAfter(ctx, cursors, limit))
}

func (c *countedReads) TransitionsSince(ctx context.Context, jobs []int64, xid uint64, limit int) (store.Batch, error) {
	return c.count(c.Store.TransitionsSince(ctx, jobs, xid, limit))
}

func TestWithoutWatchersANotificationCostsNoQuery(t *testing.T) {
	t.Parallel()
	f := open(t)
	src := &countedReads{Store: f.Store}
	hub, _ := f.hub(src, events.Config{Reread: 50 * time.Millisecond, Poll: 50 * time.Millisecond})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	pulse := hub.Pulse(0)
	defer pulse.Close()
	heard := hub.Status().LastHeard
	f.enqueue(50)
	if err := work(f.ctx, f.Store, 5, 1); err != nil {
		t.Fatal(err)
	}
	awaitTick(t, pulse)
	f.eventually("notifications arrive", func() bool { return hub.Status().LastHeard.After(heard) })
	f.enqueue(1)
	awaitTick(t, pulse) // a second look at the pulses has passed
	if n := src.reads.Load(); n != 0 {
		t.Errorf("%d reads were made for nobody", n)
	}
}

// The watchers' jobs are idle while 2,000 transitions of others pass.
func TestTheCostFollowsTheWatchersAndNotTheTraffic(t *testing.T) {
	t.Parallel()
	f := open(t)
	src := &countedReads{Store: f.Store}
	hub, _ := f.hub(src, events.Config{Poll: time.Hour, Debounce: 20 * time.Millisecond})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	idle := f.enqueue(100)
	f.exec(`update fenceline.jobs set queue = 'elsewhere'`)
	f.watch(hub, idle, events.From{})
	f.enqueue(200)
	before, begun := src.reads.Load(), time.Now()
	if err := work(f.ctx, f.Store, 2, 8); err != nil {
		t.Fatal(err)
	}
	// One question at most for each collected burst.
	most := int64(time.Since(begun)/(20*time.Millisecond)) + 5
	if n := src.reads.Load() - before; n > most {
		t.Errorf("%d reads were made in a time of %d bursts", n, most)
	}
	if n := src.rows.Load(); n != 0 {
		t.Errorf("%d transitions of unwatched jobs were read", n)
	}
}

func TestTwoHundredWatchersJoinAndLeaveWhileTransitionsFlow(t *testing.T) {
	f := open(t)
	hub := f.live(events.Config{})
	jobs := f.enqueue(10)
	stop := f.writing()
	var joined atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for n := range 200 {
		all.Go(func() {
			// A slow machine takes the time it needs for them.
			for time.Since(begun) < 3*time.Second || joined.Load() < 200 {
				job := jobs[n%len(jobs)]
				sub, err := hub.Watch(f.ctx, []int64{job}, fromStart(job))
				if err != nil {
					t.Error(err)
					return
				}
				joined.Add(1)
				r := newReader(sub)
				for range 1 + n%3 {
					select {
					case d, ok := <-sub.C:
						if ok {
							r.take(d)
						}
					case <-time.After(10 * time.Millisecond):
					}
				}
				sub.Close()
				for _, fault := range r.faults {
					t.Error(fault)
				}
			}
		})
	}
	all.Wait()
	stop()
	f.eventually("nobody watches", func() bool {
		s := hub.Status()
		return s.Subscriptions == 0 && s.Watchers == 0
	})
}
