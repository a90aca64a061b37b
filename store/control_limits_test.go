package store_test

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func (f *fixture) limit(scope store.Scope, name string, l store.Limits) {
	f.t.Helper()
	if _, err := f.Limit(f.ctx, f.change(scope, name), l); err != nil {
		f.t.Fatal(err)
	}
}

func TestNoMoreJobsRunAtOnceThanTheLimitSays(t *testing.T) {
	f := open(t)
	f.many(8, store.Request{})
	f.limit(store.ScopeQueue, "default", store.Limits{Concurrency: 3})
	got, held := f.take(2, "default", "report")
	if len(got) != 2 || held.By != "" {
		t.Fatalf("claimed %d, held %+v", len(got), held)
	}
	more, held := f.take(5, "default", "report")
	if len(more) != 1 || held.By != store.HeldByConcurrency || held.Allowed != 1 || !held.Tight(1) {
		t.Fatalf("claimed %d more, held %+v", len(more), held)
	}
	if got, held := f.take(5, "default", "report"); len(got) != 0 || !held.Full || !held.Tight(0) {
		t.Fatalf("claimed %d beyond the limit, held %+v", len(got), held)
	}
	// Whatever ends an attempt gives its place back.
	f.complete("w", got[0].Lease, `1`)
	f.lapse(got[1].Lease.JobID)
	if got, _ := f.take(5, "default", "report"); len(got) != 1 {
		t.Fatalf("claimed %d: a lease that nobody has swept may still be at work", len(got))
	}
	f.expire()
	f.operate(f.Terminate, more[0].Lease.JobID)
	if got, _ := f.take(5, "default", "report"); len(got) != 2 {
		t.Errorf("claimed %d", len(got))
	}
	// A limit that is lowered leaves what runs; one that is taken away limits nothing.
	f.limit(store.ScopeQueue, "default", store.Limits{Concurrency: 1})
	if n := value[int](f, "select count(*) from fenceline.jobs where state = 'running'"); n != 3 {
		t.Errorf("%d run", n)
	}
	if got, _ := f.take(5, "default", "report"); len(got) != 0 {
		t.Errorf("claimed %d", len(got))
	}
	f.limit(store.ScopeQueue, "default", store.Limits{})
	if got, held := f.take(5, "default", "report"); len(got) != 3 || held.By != "" {
		t.Errorf("claimed %d, held %+v", len(got), held)
	}
	f.consistent()
}

func TestAKindIsLimitedOverAllQueues(t *testing.T) {
	f := open(t)
	f.many(5, store.Request{Kind: "mail"})
	f.many(5, store.Request{Kind: "mail", Queue: "slow"})
	f.many(5, store.Request{Kind: "report"})
	f.limit(store.ScopeKind, "mail", store.Limits{Concurrency: 3})
	f.limit(store.ScopeQueue, "default", store.Limits{Concurrency: 6})
	mails := 0
	for range 4 {
		for _, queue := range []string{"slow", "default"} {
			got, _ := f.take(2, queue, "mail", "report")
			for _, c := range got {
				if c.Kind == "mail" {
					mails++
				}
			}
			if n := value[int](f, "select count(*) from fenceline.jobs where state = 'running' and kind = 'mail'"); n > 3 {
				t.Fatalf("%d mails run", n)
			}
		}
	}
	running := value[int](f, "select count(*) from fenceline.jobs where state = 'running' and queue = 'default'")
	if mails != 3 || running != 6 {
		t.Errorf("%d mails claimed, %d of the queue default run", mails, running)
	}
}

func TestNoMoreJobsAreClaimedInATimeThanTheRateSays(t *testing.T) {
	f := open(t)
	f.many(12, store.Request{})
	f.many(2, store.Request{Kind: "mail"})
	f.limit(store.ScopeQueue, "default", store.Limits{Rate: store.Rate{N: 5, Per: time.Hour}})
	if got, held := f.take(3, "default", "report"); len(got) != 3 || held.By != "" {
		t.Fatalf("claimed %d, held %+v", len(got), held)
	}
	// Half of the time passes for the first three.
	f.exec("update fenceline.controls set spent_at = array(select t - interval '30 minutes' from unnest(spent_at) t)")
	got, held := f.take(9, "default", "report")
	if len(got) != 2 || held.By != store.HeldByRate || held.Allowed != 2 || held.Full {
		t.Fatalf("claimed %d, held %+v", len(got), held)
	}
	// Giving a claim back does not give the rate back.
	f.release("w", got[0].Lease, false)
	none, held := f.take(9, "default", "report", "mail")
	if len(none) != 0 || !held.Full || held.Again <= 29*time.Minute || held.Again > 30*time.Minute {
		t.Fatalf("claimed %d, held %+v", len(none), held)
	}
	f.exec("update fenceline.controls set spent_at = array(select t - interval '30 minutes' from unnest(spent_at) t)")
	if got, held := f.take(9, "default", "report"); len(got) != 3 || held.Full {
		t.Errorf("claimed %d, held %+v", len(got), held)
	}
	// A longer time remembers what was claimed, as far as it is still known.
	f.limit(store.ScopeQueue, "default", store.Limits{Rate: store.Rate{N: 6, Per: 2 * time.Hour}})
	if got, _ := f.take(9, "default", "report"); len(got) != 1 {
		t.Errorf("claimed %d", len(got))
	}
	f.consistent()
}

func TestTheBooksOfARateStayShort(t *testing.T) {
	f := open(t)
	f.limit(store.ScopeQueue, "default", store.Limits{Rate: store.Rate{N: 1000, Per: time.Hour}})
	for i := range 100 {
		f.exec("select fenceline.spend('{queue:default}', timestamptz '2026-11-03 14:00Z' + $1 * interval '1 second', '{report}')", i*100)
	}
	entries := value[int](f, "select cardinality(spent_at) from fenceline.controls")
	spent := value[int](f, "select sum(n) from fenceline.controls, unnest(spent) n")
	// 36 of them in the last hour, in entries of a twentieth of it that end with their last.
	if entries > 21 || spent < 36 || spent > 37 {
		t.Errorf("%d entries say %d claims", entries, spent)
	}
}
