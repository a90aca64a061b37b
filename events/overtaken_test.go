package events_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

// overtaken lets something happen between a new subscription's reading and its
// use.
type overtaken struct {
	*store.Store
	armed atomic.Bool
	of    int64 // the only job of the subscription
	then  func()

	askArmed atomic.Bool
	asking   func()
}

func (o *overtaken) TransitionsOf(ctx context.Context, xids []uint64, jobs []int64) (store.Batch, error) {
	if o.askArmed.CompareAndSwap(true, false) {
		o.asking()
	}
	return o.Store.TransitionsOf(ctx, xids, jobs)
}

func (o *overtaken) TransitionsAfter(ctx context.Context, cursors []store.Cursor, limit int) (store.Batch, error) {
	b, err := o.Store.TransitionsAfter(ctx, cursors, limit)
	// A pass reads too: it is not the one that is meant.
	if len(cursors) == 1 && cursors[0] == (store.Cursor{JobID: o.of}) && o.armed.CompareAndSwap(true, false) {
		o.then()
	}
	return b, err
}

// While B's reading is under way a transition commits, is heard, and is
// delivered to A. B is not part of that pass; it gets the transition all the
// same, and A does not get it again.
func TestAWatchOvertakenByADeliveryMissesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	src := &overtaken{Store: f.Store}
	hub, _ := f.hub(src, events.Config{Poll: 24 * time.Hour})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	job := f.enqueue(1)[0]
	l := f.claimOne()
	a := f.watch(hub, []int64{job}, fromStart(job))
	a.untilStored(f, job)
	src.of = job
	src.then = func() {
		f.renewOne(l)
		a.untilStored(f, job)
	}
	src.armed.Store(true)
	b := f.watch(hub, []int64{job}, fromStart(job))
	b.untilStored(f, job)
	f.completeOne(l)
	b.untilStored(f, job)
	a.untilStored(f, job)
}

// A transition of B's job commits behind B's reading. The pass that heard of
// it, and of a horizon above it, began before B joined and ends after: it must
// not move B's position over what B has yet to get.
func TestAPassThatBeganBeforeAWatchDoesNotMoveItsPosition(t *testing.T) {
	t.Parallel()
	f := open(t)
	src := &overtaken{Store: f.Store}
	hub, _ := f.hub(src, events.Config{
		Poll: 24 * time.Hour, PingEvery: 5 * time.Millisecond, Debounce: 200 * time.Millisecond,
	})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	job := f.enqueue(1)[0]
	l := f.claimOne()
	idle := f.enqueue(20) // so many that the hub asks whom a transaction was about
	a := f.watch(hub, idle, events.From{})
	a.until(t, "a place to resume from", func() bool { return a.position > 0 })
	begun := a.position
	a.until(t, "the first passes are over", func() bool { return a.position > begun })
	var asked atomic.Bool
	src.asking = func() {
		asked.Store(true)
		poll(func() bool { return hub.Status().Watchers == len(idle)+1 }) // B has joined
	}
	src.of = job
	src.then = func() {
		src.askArmed.Store(true)
		f.renewOne(l)
		poll(asked.Load)
	}
	src.armed.Store(true)
	b := f.watch(hub, []int64{job}, fromStart(job))
	ts, err := f.Transitions(f.ctx, job, 0, 10)
	if err != nil || len(ts) != 3 {
		t.Fatalf("%d transitions are stored: %v", len(ts), err)
	}
	if !asked.Load() {
		t.Fatal("no pass was under way when B joined")
	}
	late := ts[2]
	b.until(t, "the renewal", func() bool {
		if b.n < 3 && b.position > late.XID {
			t.Fatalf("the position %d is past transaction %d, which has not come", b.position, late.XID)
		}
		return b.n == 3
	})
}
