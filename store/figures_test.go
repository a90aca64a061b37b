package store_test

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestFiguresCountEachStateAndFindTheOldestOfEachQueue(t *testing.T) {
	f := open(t)
	if fresh, err := f.Figures(f.ctx); err != nil || fresh.Verified.N != 0 || !fresh.Verified.At.IsZero() || fresh.Now.IsZero() {
		t.Errorf("before anything was checked: %+v, %v", fresh, err)
	}
	f.enqueue(store.Request{Queue: "e"})
	storetest.AwaitHorizon(t, f.url)
	if _, err := f.VerifyNext(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.exec("delete from fenceline.jobs")
	f.exec(`insert into fenceline.jobs (kind, queue, priority, run_at) values
		('x', 'a', 0, now() - interval '1 minute'), ('x', 'a', 5, now() - interval '1 hour'), ('x', 'a', 5, now()),
		('x', 'b', 9, now() - interval '1 second')`)
	f.exec(`insert into fenceline.jobs (kind, queue, state, run_at) select 'x', 'c', 'scheduled', now() + interval '1 day' from generate_series(1, 3)`)
	f.exec(`insert into fenceline.jobs (kind, queue, state, finished_at) select 'x', 'd', 'discarded', now() from generate_series(1, $1)`, store.CountBound+5)
	got, err := f.Figures(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for state, want := range map[store.State]store.Count{
		store.Available: {N: 4}, store.Scheduled: {N: 3}, store.Running: {}, store.Discarded: {N: store.CountBound, Capped: true},
	} {
		if got.States[state] != want {
			t.Errorf("%s: %+v, want %+v", state, got.States[state], want)
		}
	}
	if v := got.Verified; v.N != 1 || v.Violations != 0 || v.Through.IsZero() || v.At.IsZero() || got.Now.Before(v.At) {
		t.Errorf("of the log: %+v at %s", v, got.Now)
	}
	if len(got.States) != len(store.States) || len(got.Oldest) != 2 {
		t.Errorf("%+v", got)
	}
	if a, b := got.Oldest["a"], got.Oldest["b"]; a < time.Hour || a > 2*time.Hour || b < time.Second || b > time.Hour {
		t.Errorf("the oldest of a has waited %s, that of b %s", a, b)
	}
}
