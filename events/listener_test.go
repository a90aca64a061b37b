package events_test

import (
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

const listeners = `select count(*) from pg_stat_activity
  where datname = current_database() and application_name = 'fenceline listener'`

// writing claims, renews and completes job after job until stop is called.
func (f *feed) writing() (stop func()) {
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			for range 5 {
				if err := work(f.ctx, f.Store, 4, 3); err != nil {
					f.t.Error(err)
					return
				}
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
			}
		}
	})
	return func() { close(over); done.Wait() }
}

func TestAKilledListenerLosesNothingAndLeavesNoConnection(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{ReconnectDelay: 50 * time.Millisecond, Poll: 24 * time.Hour})
	status := hub.WatchStatus()
	defer status.Close()
	<-status.C
	for round := range 20 {
		jobs := f.enqueue(8)
		r := f.watch(hub, jobs, fromStart(jobs...))
		stop := f.writing()
		if n := value[int](f, `select count(pg_terminate_backend(pid)) from pg_stat_activity
		  where datname = current_database() and application_name = 'fenceline listener'`); n != 1 {
			t.Fatalf("round %d: %d listeners were killed, want 1", round, n)
		}
		if s := next(t, status); s.Live || s.Degraded != events.ListenerLost {
			t.Fatalf("round %d: after the kill the feed says %+v", round, s)
		}
		late := f.enqueue(1)
		rest := f.watch(hub, late, fromStart(late...))
		f.eventually("the jobs are done", func() bool {
			return value[int](f, `select count(*) from fenceline.jobs where state <> 'completed'`) == 0
		})
		stop()
		r.untilStored(f, jobs...)
		rest.untilStored(f, late...)
		if s := next(t, status); !s.Live {
			t.Fatalf("round %d: the feed did not come back: %+v", round, s)
		}
		r.sub.Close()
		rest.sub.Close()
	}
	f.eventually("one listening connection is left", func() bool { return value[int](f, listeners) == 1 })
	if n := value[int](f, `select count(*) from pg_stat_activity where datname = current_database()`); n > 22 {
		t.Errorf("%d connections are open after 20 reconnects", n)
	}
}

func next(t *testing.T, w *events.StatusWatch) events.Status {
	t.Helper()
	select {
	case s := <-w.C:
		return s
	case <-time.After(patience):
		t.Fatal("the status did not change")
		return events.Status{}
	}
}

func TestAHalfOpenListenerIsSeenAndHealed(t *testing.T) {
	t.Parallel()
	f := open(t)
	r := throughRelay(t, f.Store)
	hub, _ := f.hub(r, events.Config{
		PingEvery: 200 * time.Millisecond, DeadAfter: 700 * time.Millisecond,
		ReconnectDelay: 50 * time.Millisecond, Poll: 24 * time.Hour,
	})
	f.eventually("the feed is live", func() bool { return hub.Status().Live })
	status := hub.WatchStatus()
	defer status.Close()
	<-status.C
	job := f.enqueue(1)[0]
	watcher := f.watch(hub, []int64{job}, fromStart(job))
	watcher.untilStored(f, job)

	before := r.connections.Load()
	r.silence()
	l := f.claimOne()
	if s := next(t, status); s.Live || s.Degraded != events.ListenerSilent {
		t.Fatalf("the half-open connection is called %+v", s)
	}
	watcher.untilStored(f, job)
	if s := next(t, status); !s.Live {
		t.Fatalf("the feed did not come back: %+v", s)
	}
	f.completeOne(l)
	watcher.untilStored(f, job)
	// The dropped connection's cancel request may have passed the relay too.
	if n := r.connections.Load() - before; n < 1 || n > 2 {
		t.Errorf("%d new connections were made, want one listener", n)
	}
}

func TestWhileNoConnectionListensTheWatchedJobsArePolled(t *testing.T) {
	t.Parallel()
	f := open(t)
	r := throughRelay(t, f.Store)
	r.way.Refuse(true) // nothing can listen
	hub, _ := f.hub(r, events.Config{ReconnectDelay: time.Hour, Poll: 50 * time.Millisecond})
	f.eventually("the feed says that it is not live", func() bool {
		return hub.Status().Degraded == events.ListenerLost
	})
	pulse := hub.Pulse(0)
	defer pulse.Close()
	job := f.enqueue(1)[0]
	watcher := f.watch(hub, []int64{job}, fromStart(job))
	l := f.claimOne()
	watcher.untilStored(f, job)
	f.completeOne(l)
	watcher.untilStored(f, job)
	awaitTick(t, pulse) // though nothing can be heard
}

// What happens while no connection listens is notified to nobody, and the
// first reading after the reconnect fails.
func TestACatchUpThatFailsIsRepeated(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{ReconnectDelay: 300 * time.Millisecond, Poll: 24 * time.Hour})
	jobs := f.enqueue(20) // more than the hub would ask about one by one
	r := f.watch(hub, jobs, fromStart(jobs...))
	r.untilStored(f, jobs...)
	f.exec(`revoke select on fenceline.transitions from ` + store.RuntimeRole)
	f.exec(`select pg_terminate_backend(pid) from pg_stat_activity
	  where datname = current_database() and application_name = 'fenceline listener'`)
	f.eventually("the listener is gone", func() bool { return hub.Status().Degraded == events.ListenerLost })
	l := f.claimOne()
	f.eventually("the first reading fails", func() bool { return hub.Status().Degraded == events.ReadsFailing })
	f.exec(`grant select on fenceline.transitions to ` + store.RuntimeRole)
	r.untilStored(f, jobs...)
	f.eventually("the feed is live again", func() bool { return hub.Status().Live })
	f.completeOne(l)
	r.untilStored(f, jobs...)
}

func TestTheListenerIsOneIdleSession(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{PingEvery: 20 * time.Millisecond})
	jobs := f.enqueue(40)
	for range 50 {
		f.watch(hub, jobs, events.From{})
	}
	stop := f.writing()
	defer stop()
	for range 100 {
		state := value[string](f, `select string_agg(state, ',') from pg_stat_activity
		  where datname = current_database() and application_name = 'fenceline listener'`)
		if state != "idle" {
			t.Fatalf("the listening sessions are %q, want one that is idle", state)
		}
	}
	if used := value[float64](f, `select pg_notification_queue_usage()`); used > 0.01 {
		t.Errorf("the notification queue is %v full", used)
	}
}

func TestGarbageOnTheChannelsHarmsNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	hub := f.live(events.Config{})
	job := f.enqueue(1)[0]
	r := f.watch(hub, []int64{job}, fromStart(job))
	for _, payload := range []string{"", "-1", "x", "1e9", "99999999999999999999", "18446744073709551615",
		"9223372036854775807", "0", "'; drop table fenceline.jobs; --"} {
		f.exec(`select pg_notify('fenceline_transitions', $1)`, payload)
		f.exec(`select pg_notify('fenceline_work', $1)`, payload)
	}
	f.completeOne(f.claimOne())
	r.untilStored(f, job)
	if s := hub.Status(); !s.Live {
		t.Errorf("the feed says %+v", s)
	}
}
