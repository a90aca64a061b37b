package events_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
)

func TestCloseEndsEverySubscriptionAtOnceAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	jobs := f.enqueue(5)
	var readers []*reader
	for range 20 {
		readers = append(readers, f.watch(hub, jobs, events.From{}))
	}
	hub.Close()
	hub.Close()
	for _, r := range readers {
		for range r.sub.C {
		}
		if !errors.Is(r.sub.Err(), events.ErrClosed) {
			t.Fatalf("a subscription ended with %v", r.sub.Err())
		}
	}
	if _, err := hub.Watch(f.ctx, jobs, events.From{}); !errors.Is(err, events.ErrClosed) {
		t.Errorf("a closed hub answers %v", err)
	}
	if s := hub.Status(); s.Live || s.Degraded != events.FeedClosed {
		t.Errorf("a closed hub says %+v", s)
	}
	for len(hub.Work()) > 0 {
		<-hub.Work()
	}
	f.enqueue(1)
	select {
	case <-hub.Work():
	case <-time.After(patience):
		t.Error("a draining pool is not told of work any more")
	}
}

func TestASubscriptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	job := f.enqueue(1)
	ctx, cancel := context.WithCancel(f.ctx)
	sub, err := hub.Watch(ctx, job, events.From{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range sub.C {
	}
	if !errors.Is(sub.Err(), context.Canceled) {
		t.Errorf("it ended with %v", sub.Err())
	}
	sub.Close()
	f.eventually("it is gone", func() bool { return hub.Status().Subscriptions == 0 })
}

func TestAHubRunsOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	if err := hub.Run(f.ctx); err == nil {
		t.Error("a second Run was accepted")
	}
}

func TestASubscriptionMadeBeforeTheHubRunsIsServed(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := events.NewHub(f.Store, events.Config{})
	job := f.enqueue(1)[0]
	sub, err := hub.Watch(f.ctx, []int64{job}, fromStart(job))
	if err != nil {
		t.Fatal(err)
	}
	l := f.claimOne()
	ctx, cancel := context.WithCancel(f.ctx)
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	r := newReader(sub)
	r.untilStored(f, job)
	f.completeOne(l)
	r.untilStored(f, job)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAPulseFoldsManyChangesIntoFewTicks(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	pulse, brisk := hub.Pulse(500*time.Millisecond), hub.Pulse(time.Nanosecond)
	defer pulse.Close()
	defer brisk.Close()
	stop := f.writing()
	ticks, quick := 0, 0
	begun := time.Now()
	late := time.After(patience)
	for ticks < 4 || quick < 8 {
		f.enqueue(5)
		select {
		case <-late:
			t.Fatalf("%d ticks and %d quick ticks in %v", ticks, quick, patience)
		case <-pulse.C:
			ticks++
		case <-brisk.C:
			quick++
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	took := time.Since(begun)
	if most := int(took/(500*time.Millisecond)) + 1; ticks > most {
		t.Errorf("%d ticks in %v, want at most %d", ticks, took, most)
	}
	if most := int(took/(250*time.Millisecond)) + 1; quick > most {
		t.Errorf("%d quick ticks in %v, want at most %d", quick, took, most)
	}
}

// The last change of a burst is never swallowed by the interval.
func TestAPulseTicksAfterTheLastChange(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	pulse := hub.Pulse(300 * time.Millisecond)
	defer pulse.Close()
	for range 3 {
		f.enqueue(1)
		awaitTick(t, pulse)
	}
}

func TestWorkIsAnnounced(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	for len(hub.Work()) > 0 {
		<-hub.Work()
	}
	f.enqueue(1)
	select {
	case <-hub.Work():
	case <-time.After(patience):
		t.Error("an available job was not announced")
	}
}
