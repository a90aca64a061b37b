package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestTheAuditIsFilteredAndPagedNewestFirst(t *testing.T) {
	f := open(t)
	ids := f.failed(4, "x")
	for _, id := range ids {
		f.operate(f.Requeue, id)
	}
	if _, err := f.Reveal(f.ctx, ids[0], "reader"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Pause(f.ctx, f.change(store.ScopeQueue, "a/b"), store.PauseEnd{}); err != nil {
		t.Fatal(err)
	}
	o := f.confirm(f.preview(store.ActionTerminate, "kind:report"), store.Rules{})
	f.carried(f.Store)
	read := func(a store.AuditFilter) string {
		t.Helper()
		var out []string
		for pages := 0; ; pages++ {
			p, err := f.Audit(f.ctx, a)
			if err != nil || pages > 20 {
				t.Fatal(pages, err)
			}
			for _, e := range p.Entries {
				out = append(out, e.Action)
				if e.At.IsZero() || e.Actor == "" || e.Outcome == "" {
					t.Errorf("%+v", e)
				}
			}
			if a.After = p.Next; p.Next == 0 {
				return strings.Join(out, " ")
			}
		}
	}
	all := "finish terminate terminate terminate terminate confirm pause reveal requeue requeue requeue requeue"
	for name, c := range map[string]struct {
		filter store.AuditFilter
		want   string
	}{
		"all":         {store.AuditFilter{}, all},
		"in pages":    {store.AuditFilter{Limit: 5}, all},
		"an actor":    {store.AuditFilter{Actor: "reader"}, "reveal"},
		"an action":   {store.AuditFilter{Action: "requeue", Limit: 1}, "requeue requeue requeue requeue"},
		"an outcome":  {store.AuditFilter{Outcome: "changed"}, ""},
		"a job":       {store.AuditFilter{JobID: ids[0]}, "terminate reveal requeue"},
		"an action's": {store.AuditFilter{Operation: o.ID}, "finish terminate terminate terminate terminate confirm"},
		"since then":  {store.AuditFilter{From: time.Now().Add(time.Hour)}, ""},
		"until now":   {store.AuditFilter{To: time.Now().Add(time.Hour), Action: "pause"}, "pause"},
	} {
		if got := read(c.filter); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for field, bad := range map[string]store.AuditFilter{
		"actor": {Actor: strings.Repeat("x", 300)}, "job": {JobID: -1}, "limit": {Limit: store.MaxAuditPage + 1}, "to": {From: time.Now(), To: time.Now().Add(-time.Hour)},
	} {
		var invalid *store.InvalidError
		if _, err := f.Audit(f.ctx, bad); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	// Where one reading sees more entries than it looks through, it goes on.
	f.exec("insert into fenceline.audit (actor, action, outcome) select 'crowd', 'reveal', 'done' from generate_series(1, 45000)")
	if got := read(store.AuditFilter{Actor: "reader"}); got != "reveal" {
		t.Errorf("behind 45,000 others: %q", got)
	}
}

func TestWhatCannotBeRecordedDoesNotHappen(t *testing.T) {
	f := open(t)
	id := f.failed(1, "x")[0]
	o := f.confirm(f.preview(store.ActionRequeue, "state:discarded"), store.Rules{})
	f.exec(`create function public.full() returns trigger language plpgsql as $$ begin raise exception 'the audit is full' using errcode = '53100'; end $$;
		create trigger full_audit before insert on fenceline.audit for each row execute function public.full()`)
	seen := f.job(id)
	p := store.OperatorParams{JobID: id, Seen: seen.Revision, Actor: "oncall", Reason: "x"}
	change := f.change(store.ScopeQueue, "mail")
	for what, err := range map[string]error{
		"requeue": errOf(f.Requeue(f.ctx, p)), "terminate": errOf(f.Terminate(f.ctx, p)), "reveal": errOf(f.Reveal(f.ctx, id, "x")),
		"pause": errOf(f.Pause(f.ctx, change, store.PauseEnd{})), "search": errOf(f.KeepSearch(f.ctx, parsed("args.a:1"), "x")),
		"operation": errOf(f.StepOperation(f.ctx, "w")),
		"cancel":    errOf(f.CancelOperation(f.ctx, store.OperationParams{ID: o.ID, Seen: o.Revision, Actor: "x", Reason: "x"})),
	} {
		if code(err) != "53100" {
			t.Errorf("%s: %v", what, err)
		}
	}
	now, _ := f.Operation(f.ctx, o.ID)
	set, _ := f.Control(f.ctx, store.ScopeQueue, "mail")
	if !equal(f.job(id), seen) || now.Position != 0 || now.State != store.OperationRunning || set.Revision != 0 {
		t.Errorf("%+v %+v %+v", f.job(id), now, set)
	}
	if n := value[int](f, "select count(*) from fenceline.searches"); n != 0 {
		t.Errorf("%d searches were kept", n)
	}
}

func errOf[T any](_ T, err error) error { return err }
