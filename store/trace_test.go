package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

const (
	traceOne = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traceTwo = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

func (f *fixture) trace(job int64) string {
	f.t.Helper()
	return value[string](f, "select coalesce(trace, '') from fenceline.jobs where id = $1", job)
}

func TestAJobKeepsItsEnqueuersTraceWhicheverWayItCame(t *testing.T) {
	f := open(t)
	one, err := f.Enqueue(f.ctx, store.Request{Kind: "x", Trace: traceOne})
	if err != nil {
		t.Fatal(err)
	}
	none, err := f.Enqueue(f.ctx, store.Request{Kind: "x"})
	if err != nil {
		t.Fatal(err)
	}
	many, err := f.EnqueueMany(f.ctx, []store.Request{
		{Kind: "x", Trace: traceOne}, {Kind: "x"}, {Kind: "x", Key: "a", Trace: traceTwo}, {Kind: "x", Key: "b"}, {Kind: "x", Key: "a", Trace: traceOne},
	})
	if err != nil {
		t.Fatal(err)
	}
	for job, want := range map[int64]string{
		one.ID: traceOne, none.ID: "", many[0].ID: traceOne, many[1].ID: "", many[2].ID: traceTwo, many[3].ID: "",
	} {
		if got := f.trace(job); got != want {
			t.Errorf("job %d has the trace %q, want %q", job, got, want)
		}
	}
	if !many[4].Existing || many[4].ID != many[2].ID {
		t.Errorf("another trace makes another request: %+v", many[4])
	}
	if v, err := f.JobView(f.ctx, one.ID); err != nil || v.Trace != traceOne {
		t.Errorf("the page has the trace %q: %v", v.Trace, err)
	}
	conn := f.runtime()
	for setting, want := range map[string]string{traceTwo: traceTwo, "nonsense": "", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": "", "": ""} {
		var id int64
		err := pgx.BeginFunc(f.ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(f.ctx, "select set_config('fenceline.traceparent', $1, true)", setting); err != nil {
				return err
			}
			return tx.QueryRow(f.ctx, "select id from fenceline.enqueue('x')").Scan(&id)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.trace(id); got != want {
			t.Errorf("the setting %q leaves the trace %q", setting, got)
		}
	}
}

func TestAFollowUpContinuesItsParentsTraceOrItsOwn(t *testing.T) {
	f := open(t)
	if _, err := f.Enqueue(f.ctx, store.Request{Kind: "report", Trace: traceOne}); err != nil {
		t.Fatal(err)
	}
	claimed := f.claimAs("w", 1)
	if len(claimed) != 1 || claimed[0].Trace != traceOne {
		t.Fatalf("%+v", claimed)
	}
	held := claimed[0].Lease
	out, err := f.Complete(f.ctx, "w", []store.Completion{{Lease: held, Result: []byte("1"), FollowUps: []store.FollowUp{
		{Name: "a", Request: store.Request{Kind: "y"}}, {Name: "b", Request: store.Request{Kind: "y", Trace: traceTwo}},
	}}})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	for name, want := range map[string]string{"a": traceOne, "b": traceTwo} {
		if got := value[string](f, "select coalesce(trace, '') from fenceline.jobs where follow_name = $1", name); got != want {
			t.Errorf("follow-up %s has the trace %q, want %q", name, got, want)
		}
	}
}

func TestWhatIsNoTraceparentIsRefusedByName(t *testing.T) {
	f := open(t)
	for _, bad := range []string{"x", traceOne + "0", "01" + traceOne[2:], strings.ToUpper(traceOne), "00-" + strings.Repeat("0", 32) + traceOne[35:]} {
		_, err := f.Enqueue(f.ctx, store.Request{Kind: "x", Trace: bad})
		var invalid *store.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "trace" || store.TraceID(bad) != "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if store.TraceID(traceOne) != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Error(store.TraceID(traceOne))
	}
}
