package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// wantStale asserts a refusal: the typed error, the record on the old
// attempt's lane, and a row that did not change.
func (f *fixture) wantStale(out store.Outcome, op store.Op, reason store.Reason, before store.Job) {
	f.t.Helper()
	var stale *store.StaleError
	if !errors.As(out.Err, &stale) || !errors.Is(out.Err, store.ErrStale) {
		f.t.Fatalf("%s: got %v (state %s), want a stale error", op, out.Err, out.State)
	}
	if stale.Op != op || stale.Reason != reason || stale.Lease.AttemptID != out.Lease.AttemptID {
		f.t.Errorf("got %s %s, want %s %s", stale.Op, stale.Reason, op, reason)
	}
	ts, _ := f.history(out.Lease.JobID)
	last := ts[len(ts)-1]
	if last.Type != store.TypeRejected || last.Op != op || last.Reason != string(reason) ||
		last.AttemptID != out.Lease.AttemptID || last.Generation != out.Lease.Generation || last.Detail.Current != stale.Current {
		f.t.Errorf("the record is %+v", last)
	}
	if after := f.job(out.Lease.JobID); !equal(before, after) {
		f.t.Errorf("the refused write changed the row:\n%+v\n%+v", before, after)
	}
}

func equal(a, b store.Job) bool {
	a.Tags, b.Tags = nil, nil
	return jobText(a) == jobText(b)
}

func TestALateResultOfASupersededAttemptIsRefusedAndRecorded(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	a := f.claim("a")
	f.lapse(id)
	if n := f.expire(); n != 1 {
		t.Fatalf("expired %d, want 1", n)
	}
	b := f.claim("b")
	if b.Generation != a.Generation+1 {
		t.Fatalf("generations %d, %d", a.Generation, b.Generation)
	}
	before := f.job(id)
	f.wantStale(f.complete("a", a, `"A"`), store.OpComplete, store.ReasonSuperseded, before)
	f.wantStale(f.renew("a", a), store.OpRenew, store.ReasonSuperseded, before)
	f.wantStale(f.release("a", a, true), store.OpRelease, store.ReasonSuperseded, before)
	f.wantStale(f.fail("a", store.Failure{Lease: a, Delay: time.Second}), store.OpFail, store.ReasonSuperseded, before)
	if out := f.complete("b", b, `"B"`); out.Err != nil || out.State != store.Completed {
		t.Fatalf("B: %+v", out)
	}
	f.wantStale(f.complete("a", a, `"A"`), store.OpComplete, store.ReasonSuperseded, f.job(id))
	p, _ := f.Payload(f.ctx, id)
	if string(p.Result) != `"B"` {
		t.Errorf("result %s", p.Result)
	}
	ts, h := f.history(id)
	want := []store.Type{"enqueued", "claimed", "expired", "claimed", "rejected", "rejected", "rejected", "rejected", "completed", "rejected"}
	if !slices.Equal(types(ts), want) {
		t.Errorf("log %v", types(ts))
	}
	if len(h.Lanes) != 2 || len(h.Lanes[0].Refused) != 5 || h.Lanes[0].End != store.EndExpired || h.Lanes[1].End != store.EndCompleted {
		t.Errorf("lanes %+v", h.Lanes)
	}
	f.consistent()
}

func TestAPassedDeadlineIsRefusedWithNoRivalAndBeforeAnySweep(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	a := f.claim("a")
	f.lapse(id)
	before := f.job(id)
	f.wantStale(f.renew("a", a), store.OpRenew, store.ReasonLeaseExpired, before)
	f.wantStale(f.complete("a", a, `1`), store.OpComplete, store.ReasonLeaseExpired, before)
	f.wantStale(f.fail("a", store.Failure{Lease: a}), store.OpFail, store.ReasonLeaseExpired, before)
	f.wantStale(f.release("a", a, false), store.OpRelease, store.ReasonLeaseExpired, before)
	f.expire()
	f.wantStale(f.complete("a", a, `1`), store.OpComplete, store.ReasonLeaseExpired, f.job(id))
	f.consistent()
}

func TestHomeListAndVerifyReadAFreshAndAUsedDatabase(t *testing.T) {
	f := open(t)
	h, err := f.Home(f.ctx)
	if err != nil || !h.Empty {
		t.Fatalf("home of nothing: %+v %v", h, err)
	}
	id := f.enqueue(store.Request{})
	a := f.claim("a")
	f.lapse(id)
	f.expire()
	f.complete("a", a, `1`)
	b := f.claim("b")
	f.checkAll()
	if h, err = f.Home(f.ctx); err != nil {
		t.Fatal(err)
	}
	if h.Empty || h.Running.N != 1 || h.OldestJob != id || h.Expired.N != 1 || h.Reclaimed != 1 || h.Waiting != 0 ||
		h.Refused[store.ReasonLeaseExpired] != 1 || h.Verified.Stale != 0 || h.Verified.N == 0 || len(h.Refusals) != 1 || h.States[store.Running].N != 1 {
		t.Errorf("home %+v", h)
	}
	f.complete("b", b, `2`)
	p, err := f.Jobs(f.ctx, store.Filter{State: store.Completed, Kind: "report"})
	if err != nil || len(p.Jobs) != 1 || p.Jobs[0].ID != id || p.Next.ID != 0 {
		t.Errorf("page %+v %v", p, err)
	}
	r, err := f.Verify(f.ctx)
	if err != nil || !r.OK || r.Jobs != 1 || r.Transitions != 6 || r.Refused != 1 {
		t.Errorf("report %+v %v", r, err)
	}
}
