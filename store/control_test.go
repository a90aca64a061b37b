package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func (f *fixture) control(scope store.Scope, name string) store.Control {
	f.t.Helper()
	c, err := f.Control(f.ctx, scope, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fixture) pause(scope store.Scope, name string) store.Control {
	f.t.Helper()
	c, err := f.Pause(f.ctx, f.change(scope, name), store.PauseEnd{})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fixture) resume(scope store.Scope, name string) {
	f.t.Helper()
	if _, err := f.Resume(f.ctx, f.change(scope, name)); err != nil {
		f.t.Fatal(err)
	}
}

// take claims up to n jobs of a queue, of these kinds.
func (f *fixture) take(n int, queue string, kinds ...string) ([]store.Claimed, store.Held) {
	f.t.Helper()
	var held store.Held
	p := store.ClaimParams{Worker: "w", Queue: queue, AttemptIDs: attempts(n), Held: &held}
	for _, k := range kinds {
		p.Kinds = append(p.Kinds, store.KindLease{Kind: k, Lease: lease})
	}
	claimed, err := f.Claim(f.ctx, p)
	if err != nil {
		f.t.Fatal(err)
	}
	return claimed, held
}

func (f *fixture) many(n int, r store.Request) {
	f.t.Helper()
	for range n {
		f.enqueue(r)
	}
}

func TestWhatIsPausedIsNotClaimedAndWhatRunsGoesOn(t *testing.T) {
	f := open(t)
	f.many(3, store.Request{})
	f.many(1, store.Request{Queue: "mail"})
	l := f.claim("w")
	c := f.pause(store.ScopeQueue, "default")
	if c.Revision != 1 || c.Pause.Reason != "the disk is full" || c.Pause.By != "oncall" || !c.PausedAt(c.Pause.At) {
		t.Errorf("%+v", c)
	}
	if got, held := f.take(5, "default", "report"); len(got) != 0 || held.By != store.HeldByPause || held.Allowed != 0 {
		t.Errorf("claimed %d of a paused queue, held %+v", len(got), held)
	}
	if got, held := f.take(5, "mail", "report"); len(got) != 1 || held.By != "" {
		t.Errorf("claimed %d of another queue, held %+v", len(got), held)
	}
	if out := f.renew("w", l); out.Err != nil {
		t.Error(out.Err)
	}
	if out := f.complete("w", l, `1`); out.Err != nil {
		t.Error(out.Err)
	}
	f.resume(store.ScopeQueue, "default")
	if got, held := f.take(5, "default", "report"); len(got) != 2 || held.By != "" {
		t.Errorf("claimed %d after the resume, held %+v", len(got), held)
	}
	f.consistent()
}

func TestAPauseEndsByItself(t *testing.T) {
	f := open(t)
	f.many(1, store.Request{})
	c, err := f.Pause(f.ctx, f.change(store.ScopeQueue, "default"), store.PauseEnd{For: time.Hour})
	if err != nil || c.Pause.Until.Sub(c.Pause.At) != time.Hour {
		t.Fatalf("%+v %v", c, err)
	}
	if got, _ := f.take(1, "default", "report"); len(got) != 0 {
		t.Fatal("claimed while paused")
	}
	f.exec("update fenceline.controls set paused_until = clock_timestamp()")
	if got, held := f.take(1, "default", "report"); len(got) != 1 || held.By != "" {
		t.Errorf("claimed %d after the end, held %+v", len(got), held)
	}
	// What ended cannot be resumed, and says so.
	var conflict *store.ControlConflictError
	if _, err := f.Resume(f.ctx, f.change(store.ScopeQueue, "default")); !errors.As(err, &conflict) || conflict.Why != store.ConflictNotPaused {
		t.Errorf("%v", err)
	}
	now, err := f.Clock(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var invalid *store.InvalidError
	if _, err := f.Pause(f.ctx, f.change(store.ScopeQueue, "default"), store.PauseEnd{Until: now.Add(-time.Second)}); !errors.As(err, &invalid) || invalid.Field != "until" {
		t.Errorf("a pause until the past: %v", err)
	}
}

func TestAPausedKindIsLeftInEveryQueueAndTheOthersAreClaimed(t *testing.T) {
	f := open(t)
	f.many(2, store.Request{Kind: "mail"})
	f.many(2, store.Request{Kind: "report"})
	f.many(1, store.Request{Kind: "mail", Queue: "slow"})
	f.pause(store.ScopeKind, "mail")
	got, held := f.take(10, "default", "mail", "report")
	if len(got) != 2 || got[0].Kind != "report" || held.By != store.HeldByPause || held.Allowed != 10 {
		t.Errorf("claimed %d, held %+v", len(got), held)
	}
	if got, held := f.take(10, "slow", "mail"); len(got) != 0 || held.Allowed != 0 {
		t.Errorf("claimed %d, held %+v", len(got), held)
	}
	// A queue of the same name is another thing.
	f.many(1, store.Request{Queue: "mail"})
	f.limit(store.ScopeQueue, "mail", store.Limits{Concurrency: 1})
	f.many(1, store.Request{Queue: "mail"})
	if got, held := f.take(10, "mail", "report", "mail"); len(got) != 1 || held.Allowed != 1 {
		t.Errorf("claimed %d of the queue mail, held %+v", len(got), held)
	}
	if got, _ := f.take(10, "mail", "report", "mail"); len(got) != 0 {
		t.Errorf("claimed %d more of the queue mail", len(got))
	}
}

func TestEverythingCanBePausedAtOnceAndWhatWasPausedBeforeStaysPaused(t *testing.T) {
	f := open(t)
	f.many(1, store.Request{Queue: "a"})
	f.many(1, store.Request{Queue: "b"})
	f.pause(store.ScopeQueue, "b")
	f.pause(store.ScopeAll, "")
	for _, queue := range []string{"a", "b"} {
		if got, held := f.take(5, queue, "report"); len(got) != 0 || held.By != store.HeldByPause {
			t.Errorf("claimed %d of %s, held %+v", len(got), queue, held)
		}
	}
	f.resume(store.ScopeAll, "")
	if got, _ := f.take(5, "a", "report"); len(got) != 1 {
		t.Errorf("claimed %d of a", len(got))
	}
	if got, _ := f.take(5, "b", "report"); len(got) != 0 {
		t.Errorf("claimed %d of b, which is still paused", len(got))
	}
}

func TestADrainedWorkerClaimsNoMore(t *testing.T) {
	f := open(t)
	f.many(3, store.Request{})
	if _, err := f.Drain(f.ctx, f.change(store.ScopeWorker, "w")); !errors.Is(err, store.ErrNoWorker) {
		t.Errorf("a worker that nobody knows: %v", err)
	}
	for _, id := range []string{"w", "other"} {
		if err := f.RegisterWorker(f.ctx, store.WorkerStart{ID: id, Host: "h", Program: "p", Version: "v", Beat: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	l := f.claim("w")
	if _, err := f.Drain(f.ctx, f.change(store.ScopeWorker, "w")); err != nil {
		t.Fatal(err)
	}
	if got, held := f.take(5, "default", "report"); len(got) != 0 || held.By != store.HeldByDrain {
		t.Errorf("claimed %d, held %+v", len(got), held)
	}
	if drain, err := f.Beat(f.ctx, "w", store.WorkerCounts{Running: 1}); !drain || err != nil {
		t.Errorf("the beat says %v %v", drain, err)
	}
	if drain, err := f.Beat(f.ctx, "other", store.WorkerCounts{}); drain || err != nil {
		t.Errorf("the other's beat says %v %v", drain, err)
	}
	if out := f.complete("w", l, `1`); out.Err != nil {
		t.Error(out.Err)
	}
	if got := f.claimAs("other", 1); len(got) != 1 {
		t.Error("the other worker claims nothing")
	}
	f.resume(store.ScopeWorker, "w")
	if got, _ := f.take(5, "default", "report"); len(got) != 1 {
		t.Errorf("claimed %d after the resume", len(got))
	}
	if err := f.EndWorker(f.ctx, "w", store.WorkerCounts{}, store.StoppedClean); err != nil {
		t.Fatal(err)
	}
	var conflict *store.ControlConflictError
	if _, err := f.Drain(f.ctx, f.change(store.ScopeWorker, "w")); !errors.As(err, &conflict) || conflict.Why != store.ConflictAlreadyEnded {
		t.Errorf("a worker that ended: %v", err)
	}
	if _, err := f.Beat(f.ctx, "never", store.WorkerCounts{}); !errors.Is(err, store.ErrNoWorker) {
		t.Errorf("%v", err)
	}
}

func TestAPauseThatWasAnsweredKnowsOfNoClaimUnderWay(t *testing.T) {
	f := open(t)
	f.many(1, store.Request{})
	// A claim under way: its session has been admitted and has not committed.
	tx, err := f.owner.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(f.ctx, "select fenceline.admit('default', '{report}', 'w', 1)"); err != nil {
		t.Fatal(err)
	}
	paused := make(chan error, 1)
	change := f.change(store.ScopeQueue, "default")
	go func() {
		_, err := f.Pause(f.ctx, change, store.PauseEnd{})
		paused <- err
	}()
	look := &fixture{t: t, ctx: f.ctx, owner: f.connect()}
	for end := time.Now().Add(time.Minute); value[int](look, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") == 0; {
		if time.Now().After(end) {
			t.Fatal("the pause does not wait for the claim")
		}
		select {
		case err := <-paused:
			t.Fatalf("the pause was answered while a claim was under way: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-paused; err != nil {
		t.Fatal(err)
	}
	if got, _ := f.take(1, "default", "report"); len(got) != 0 {
		t.Error("claimed after the pause")
	}
}
