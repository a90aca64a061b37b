package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// change is an operator's change, bound to what the control is now.
func (f *fixture) change(scope store.Scope, name string) store.ControlParams {
	f.t.Helper()
	c := f.control(scope, name)
	return store.ControlParams{Scope: scope, Name: name, Seen: &c.Revision, Actor: "oncall", Reason: "the disk is full"}
}

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

func (f *fixture) limit(scope store.Scope, name string, l store.Limits) {
	f.t.Helper()
	if _, err := f.Limit(f.ctx, f.change(scope, name), l); err != nil {
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

func TestAChangeIsBoundToWhatWasSeenAndIsAudited(t *testing.T) {
	f := open(t)
	first := f.change(store.ScopeQueue, "mail")
	if _, err := f.Pause(f.ctx, first, store.PauseEnd{}); err != nil {
		t.Fatal(err)
	}
	var conflict *store.ControlConflictError
	_, err := f.Limit(f.ctx, first, store.Limits{Concurrency: 5})
	if !errors.As(err, &conflict) || conflict.Why != store.ConflictChanged || conflict.Seen != 0 || conflict.Control.Revision != 1 || conflict.Control.Pause.Reason == "" {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(conflict.Error(), `queue "mail" changed since you looked`) {
		t.Errorf("it says %q", conflict)
	}
	if c := f.control(store.ScopeQueue, "mail"); c.Limits.Concurrency != 0 || c.Revision != 1 {
		t.Errorf("%+v", c)
	}
	f.limit(store.ScopeQueue, "mail", store.Limits{Concurrency: 5, Rate: store.Rate{N: 100, Per: time.Minute}})
	if c := f.control(store.ScopeQueue, "mail"); c.Pause.Reason == "" || c.Limits != (store.Limits{Concurrency: 5, Rate: store.Rate{N: 100, Per: time.Minute}}) {
		t.Errorf("a limit changed the pause: %+v", c)
	}
	f.resume(store.ScopeQueue, "mail")
	if c := f.control(store.ScopeQueue, "mail"); !c.Pause.At.IsZero() || c.Limits.Concurrency != 5 || c.Revision != 3 {
		t.Errorf("a resume changed the limits: %+v", c)
	}
	got := value[[]string](f, `select array_agg(format('%s %s %s %s %s %s %s', actor, action, outcome, seen, revision, detail ->> 'control', coalesce(detail ->> 'rate', '-')) order by id)
		from fenceline.audit where reason = 'the disk is full' and job_id is null`)
	want := []string{
		"oncall pause done 0 0 queue:mail -", "oncall limit changed 0 1 queue:mail -",
		"oncall limit done 1 1 queue:mail 100", "oncall resume done 2 2 queue:mail -",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("audited\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWithoutItsAuditEntryNoChangeHappens(t *testing.T) {
	f := open(t)
	f.exec("alter table fenceline.audit add constraint no_more check (action <> 'pause') not valid")
	if c, err := f.Pause(f.ctx, f.change(store.ScopeAll, ""), store.PauseEnd{}); code(err) != "23514" {
		t.Errorf("%+v %v", c, err)
	}
	if c := f.control(store.ScopeAll, ""); c.Revision != 0 || c.InForce() {
		t.Errorf("%+v", c)
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

func TestNamesOfEveryFormCanBeControlled(t *testing.T) {
	f := open(t)
	for _, name := range []string{"a/b", "100%", "%2f", "ä ö", "日本語 \u202e", "queue:mail", "'; drop table x; --", `\`, strings.Repeat("x", 200), strings.Repeat("é", 512), "?name=a&b#c", "{}", "all:", "*"} {
		for _, scope := range []store.Scope{store.ScopeQueue, store.ScopeKind} {
			r := store.Request{Kind: name, Queue: name}
			f.enqueue(r)
			f.pause(scope, name)
			if got, _ := f.take(1, name, name); len(got) != 0 {
				t.Errorf("%s %q: claimed while paused", scope, name)
			}
			f.resume(scope, name)
			f.limit(scope, name, store.Limits{Concurrency: 1, Rate: store.Rate{N: 1, Per: time.Hour}})
			f.enqueue(r)
			if got, _ := f.take(2, name, name); len(got) != 1 {
				t.Errorf("%s %q: claimed %d under a limit of one", scope, name, len(got))
			}
			f.limit(scope, name, store.Limits{})
			f.take(5, name, name)
			f.exec("update fenceline.jobs set state = 'completed', attempt_end = 'completed' where state = 'running'")
		}
	}
}

func TestBadChangesNameTheirField(t *testing.T) {
	f := open(t)
	revision, negative := int64(0), int64(-1)
	good := store.ControlParams{Scope: store.ScopeQueue, Name: "mail", Seen: &revision, Actor: "oncall", Reason: "x"}
	for field, change := range map[string]func(*store.ControlParams){
		"scope":         func(p *store.ControlParams) { p.Scope = "jobs" },
		"queue":         func(p *store.ControlParams) { p.Name = "" },
		"name":          func(p *store.ControlParams) { p.Scope = store.ScopeAll },
		"actor":         func(p *store.ControlParams) { p.Actor = "" },
		"reason":        func(p *store.ControlParams) { p.Reason = " " },
		"seen.revision": func(p *store.ControlParams) { p.Seen = &negative },
		"kind":          func(p *store.ControlParams) { p.Scope, p.Name = store.ScopeKind, strings.Repeat("x", 1025) },
	} {
		p := good
		change(&p)
		var invalid *store.InvalidError
		if _, err := f.Pause(f.ctx, p, store.PauseEnd{}); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, l := range map[string]store.Limits{
		"concurrency": {Concurrency: -1}, "rate": {Rate: store.Rate{N: store.MaxRate + 1, Per: time.Minute}},
		"per": {Rate: store.Rate{N: 1}},
	} {
		var invalid *store.InvalidError
		if _, err := f.Limit(f.ctx, good, l); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, end := range []store.PauseEnd{{For: -1}, {For: 400 * 24 * time.Hour}} {
		var invalid *store.InvalidError
		if _, err := f.Pause(f.ctx, good, end); !errors.As(err, &invalid) || invalid.Field != "for" {
			t.Errorf("%v: %v", end, err)
		}
	}
	if _, err := f.Limit(f.ctx, store.ControlParams{Scope: store.ScopeAll, Seen: &revision, Actor: "x", Reason: "x"}, store.Limits{}); err == nil {
		t.Error("everything was limited")
	}
	if n := value[int](f, "select count(*) from fenceline.controls"); n != 0 {
		t.Errorf("%d controls were stored", n)
	}
}
