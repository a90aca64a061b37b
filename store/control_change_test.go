package store_test

import (
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
