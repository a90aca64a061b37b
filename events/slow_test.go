package events_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
)

// A stops reading; B and C read; 10,000 transitions pass.
func TestASlowReaderIsCutAndTheOthersFeelNothing(t *testing.T) {
	f := open(t)
	hub := f.live(events.Config{MaxBehind: 3_000, Poll: time.Hour})
	jobs := f.enqueue(20)
	for range 3 {
		if _, err := claim(f.ctx, f.Store, 0); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := claim(f.ctx, f.Store, len(jobs))
	if err != nil || len(leases) != len(jobs) {
		t.Fatalf("claimed %d: %v", len(leases), err)
	}
	slow := f.watch(hub, jobs, fromStart(jobs...))
	b := f.watch(hub, jobs, fromStart(jobs...))
	c := f.watch(hub, jobs, fromStart(jobs...))
	total := 0
	for round := range 500 {
		if err := renew(f.ctx, f.Store, leases); err != nil {
			t.Fatal(err)
		}
		total = len(jobs) * (round + 3)
		if round%10 != 9 {
			continue
		}
		for _, r := range []*reader{b, c} {
			r.until(t, "a reader that reads has it all", func() bool { return r.n >= total })
		}
	}
	if total < 10_000 {
		t.Fatalf("only %d transitions passed", total)
	}
	b.untilStored(f, jobs...)
	c.untilStored(f, jobs...)
	f.eventually("the slow one is cut", func() bool { return errors.Is(slow.sub.Err(), events.ErrSlow) })
	if n := hub.Status().Subscriptions; n != 2 {
		t.Errorf("%d subscriptions are left, want 2", n)
	}
	got := 0
	for d := range slow.sub.C {
		slow.take(d)
		got += len(d.Transitions)
	}
	if got > 3_000 {
		t.Errorf("%d transitions were kept for the slow reader", got)
	}
	// It resyncs from a snapshot and its page is complete.
	view, err := f.JobView(f.ctx, jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	last := view.Transitions[len(view.Transitions)-1].ID
	again := f.watch(hub, jobs[:1], events.From{After: map[int64]int64{jobs[0]: last}})
	if err := complete(f.ctx, f.Store, leases); err != nil {
		t.Fatal(err)
	}
	again.until(t, "what follows", func() bool { return again.n == 1 })
	want := f.stored(jobs[0])
	if !slices.Equal(again.seen[jobs[0]], want[len(want)-1:]) {
		t.Errorf("after its snapshot it saw %v of %v", again.seen[jobs[0]], want)
	}
}

// 100 readers stop reading while one job is renewed; what is kept for them is
// bounded, and given back when they are cut.
func TestReadersThatDoNotReadHoldBoundedMemory(t *testing.T) {
	f := open(t)
	hub := f.live(events.Config{MaxBehind: 500})
	job := f.enqueue(1)[0]
	l := f.claimOne()
	var stuck []*reader
	for range 100 {
		stuck = append(stuck, f.watch(hub, []int64{job}, events.From{}))
	}
	before := heap()
	for range 1_000 {
		f.renewOne(l)
	}
	f.eventually("all are cut", func() bool { return hub.Status().Subscriptions == 0 })
	for _, r := range stuck {
		if !errors.Is(r.sub.Err(), events.ErrSlow) {
			t.Fatalf("a reader that does not read ended with %v", r.sub.Err())
		}
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("%d bytes are still held", grown)
	}
	f.completeOne(l)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A gap that is longer than a reader's room is not called slowness.
func TestAGapTooLongToReplayEndsTheSubscription(t *testing.T) {
	t.Parallel()
	f := open(t)
	r := throughRelay(t, f.Store)
	hub, _ := f.hub(r, events.Config{MaxBehind: 100, Poll: time.Hour, ReconnectDelay: 50 * time.Millisecond})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	job := f.enqueue(1)[0]
	l := f.claimOne()
	reader := f.watch(hub, []int64{job}, fromStart(job))
	reader.untilStored(f, job)
	r.way.Refuse(true)
	r.way.Cut()
	f.eventually("nobody listens", func() bool { return !hub.Status().Live })
	const more = 2300 // one page in hand, one waiting, and one for which there is no room
	f.exec(`insert into fenceline.transitions (job_id, generation, attempt_id, type, kind, queue, worker, lease_until)
		select $1, $2, $3, 'renewed', 'report', 'default', 'a', $4 from generate_series(1, $5)`,
		job, l.Generation, l.AttemptID, l.Until, more)
	r.way.Refuse(false)
	if !poll(func() bool { return reader.sub.Err() != nil }) || !errors.Is(reader.sub.Err(), events.ErrTooFar) {
		t.Errorf("after a gap of %d transitions the subscription says %v; the feed is %+v", more, reader.sub.Err(), hub.Status())
	}
}
