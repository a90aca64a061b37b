package store_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

func TestARepeatByTheAttemptThatDidItIsASuccessAndIsNotRecorded(t *testing.T) {
	for op, offer := range map[store.Op]func(f *fixture, l store.Lease) store.Outcome{
		store.OpComplete: func(f *fixture, l store.Lease) store.Outcome { return f.complete("a", l, `"first"`) },
		store.OpFail: func(f *fixture, l store.Lease) store.Outcome {
			return f.fail("a", store.Failure{Lease: l, Permanent: true})
		},
		store.OpRelease: func(f *fixture, l store.Lease) store.Outcome { return f.release("a", l, false) },
	} {
		t.Run(string(op), func(t *testing.T) {
			f := open(t)
			id := f.enqueue(store.Request{})
			l := f.claim("a")
			if out := offer(f, l); out.Err != nil || out.Repeated {
				t.Fatalf("first: %+v", out)
			}
			repeat := func(when string) {
				t.Helper()
				ts, _ := f.history(id)
				before := f.job(id)
				if out := offer(f, l); out.Err != nil || !out.Repeated {
					t.Errorf("%s: %+v", when, out)
				}
				if after, _ := f.history(id); len(after) != len(ts) || !equal(before, f.job(id)) {
					t.Errorf("%s: the repeat left a trace", when)
				}
			}
			repeat("at once")
			foreign := l
			foreign.AttemptID = uuid.New()
			if out := offer(f, foreign); !errors.Is(out.Err, store.ErrStale) {
				t.Errorf("another attempt's repeat: %+v", out)
			}
			if op != store.OpRelease {
				f.operate(f.Requeue, id)
				repeat("after a requeue")
			}
			b := f.claim("b")
			repeat("after the next claim")
			if out := f.complete("b", b, `"second"`); out.Err != nil {
				t.Fatal(out.Err)
			}
			repeat("after the next result")
			f.consistent()
		})
	}
}

func TestABatchRefusesItsStaleMembersAlone(t *testing.T) {
	f := open(t)
	var ids []int64
	for range 40 {
		ids = append(ids, f.enqueue(store.Request{}))
	}
	claimed := f.claimAs("a", 40)
	f.lapse(ids[7], ids[21])
	f.operate(f.Terminate, ids[30])
	batch := []store.Completion{}
	for _, c := range claimed {
		batch = append(batch, store.Completion{Lease: c.Lease, Result: json.RawMessage(`1`)})
	}
	batch[3].Result = json.RawMessage(`"\u0000"`)
	batch = append(batch, store.Completion{Lease: store.Lease{JobID: 1 << 40, AttemptID: uuid.New(), Generation: 1}}, batch[0])
	out, err := f.Complete(f.ctx, "a", batch)
	if err != nil {
		t.Fatal(err)
	}
	var refused, unknown, invalid, accepted int
	for i, o := range out {
		var stale *store.StaleError
		var bad *store.InvalidError
		switch {
		case errors.As(o.Err, &bad):
			invalid++
		case errors.As(o.Err, &stale) && stale.Reason == store.ReasonUnknownJob:
			unknown++
		case errors.As(o.Err, &stale):
			if !slices.Contains([]int64{ids[7], ids[21], ids[30]}, o.Lease.JobID) {
				t.Errorf("refused %+v", stale)
			}
			refused++
		case o.Err == nil && o.State == store.Completed:
			accepted++
		}
		if o.Lease.AttemptID != batch[i].Lease.AttemptID {
			t.Fatal("outcomes are not in the order of the batch")
		}
	}
	if refused != 3 || unknown != 1 || invalid != 1 || accepted != 37 {
		t.Errorf("refused %d, unknown %d, invalid %d, accepted %d", refused, unknown, invalid, accepted)
	}
	if n := value[int](f, "select count(*) from fenceline.unknown_writes where job_id = $1 and op = 'complete'", int64(1<<40)); n != 1 {
		t.Errorf("%d records of the unknown job", n)
	}
	f.consistent()
}

func TestAWorkerThatReclaimsItsOwnJobCannotSpeakForItsFormerAttempt(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	first := f.claim("w1")
	f.lapse(id)
	f.expire()
	second := f.claim("w1")
	f.wantStale(f.complete("w1", first, `"old"`), store.OpComplete, store.ReasonSuperseded, f.job(id))
	// Both in one batch, as one process would offer them.
	out, err := f.Complete(f.ctx, "w1", []store.Completion{{Lease: first, Result: []byte(`"old"`)}, {Lease: second, Result: []byte(`"new"`)}})
	if err != nil || !errors.Is(out[0].Err, store.ErrStale) || out[1].Err != nil {
		t.Fatalf("%+v %v", out, err)
	}
	_, h := f.history(id)
	if len(h.Lanes) != 2 || h.Lanes[0].AttemptID == h.Lanes[1].AttemptID || h.Lanes[0].Worker != h.Lanes[1].Worker {
		t.Errorf("lanes %+v", h.Lanes)
	}
	f.consistent()
}

// A promoted standby can issue a generation again that the lost primary had
// acknowledged: only the attempt id tells the two apart.
func TestAGenerationIssuedTwiceDoesNotLetTheWrongAttemptIn(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	lost := f.claim("a")
	f.exec(`delete from fenceline.transitions where job_id = $1 and type = 'claimed'`, id)
	f.exec(`update fenceline.jobs set state = 'available', generation = 0, revision = 1, attempts_used = 0, attempt_id = null, lease_until = null, claimed_at = null, worker = null where id = $1`, id)
	b := f.claim("b")
	if b.Generation != lost.Generation {
		t.Fatalf("the fixture must issue generation %d again, got %d", lost.Generation, b.Generation)
	}
	for op, offer := range offered {
		f.wantStale(offer(f, lost), op, store.ReasonSuperseded, f.job(id))
	}
	if out := f.complete("b", b, `1`); out.Err != nil {
		t.Error(out.Err)
	}
}

func TestAFailureLeadsToARetryADiscardOrAtOnceBack(t *testing.T) {
	for name, c := range map[string]struct {
		max     int
		failure store.Failure
		state   store.State
		reason  string
	}{
		"with a delay":         {3, store.Failure{Delay: time.Hour}, store.Retryable, ""},
		"without":              {3, store.Failure{}, store.Available, ""},
		"a negative delay":     {3, store.Failure{Delay: -time.Hour}, store.Available, ""},
		"the budget is spent":  {1, store.Failure{Delay: time.Hour}, store.Discarded, store.ReasonBudgetSpent},
		"permanent":            {3, store.Failure{Delay: time.Hour, Permanent: true}, store.Discarded, store.ReasonPermanent},
		"an unstorable result": {3, store.Failure{Permanent: true, Reason: store.ReasonResultUnstorable}, store.Discarded, store.ReasonResultUnstorable},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			id := f.enqueue(store.Request{MaxAttempts: c.max})
			c.failure.Lease = f.claim("a")
			c.failure.Error = store.AttemptError{Class: "bad\x00class", Message: "secret \xff token", Trace: strings.Repeat("é", 100000)}
			c.failure.Output = "last words"
			out := f.fail("a", c.failure)
			if out.Err != nil || out.State != c.state {
				t.Fatalf("%+v", out)
			}
			ts, _ := f.history(id)
			last := ts[len(ts)-1]
			if last.Type != store.TypeFailed || last.To != c.state || last.Reason != c.reason {
				t.Errorf("record %+v", last)
			}
			j := f.job(id)
			if c.state == store.Retryable && j.RunAt.Sub(last.At) != time.Hour {
				t.Errorf("due %s after the failure", j.RunAt.Sub(last.At))
			}
			if (c.state == store.Discarded) == j.FinishedAt.IsZero() {
				t.Errorf("finished at %s", j.FinishedAt)
			}
			fs, err := f.Failures(f.ctx, id)
			if err != nil || len(fs) != 1 || fs[0].Class != "bad\uFFFDclass" || fs[0].Message != "secret \uFFFD token" || fs[0].Output != "last words" || fs[0].Fingerprint == "" {
				t.Errorf("kept %+v %v", fs, err)
			}
			if n := value[int](f, `select count(*) from fenceline.transitions t where t::text like '%secret%'`); n != 0 {
				t.Error("the error's text is in the log")
			}
			f.consistent()
		})
	}
}

func TestAReleaseChargesOnlyWhatHadStarted(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{MaxAttempts: 2})
	f.release("a", f.claim("a"), false)
	if j := f.job(id); j.State != store.Available || j.Attempts != 0 || j.Generation != 1 {
		t.Errorf("unstarted: %+v", j)
	}
	f.release("a", f.claim("a"), true)
	if j := f.job(id); j.State != store.Available || j.Attempts != 1 || j.Generation != 2 {
		t.Errorf("started: %+v", j)
	}
	f.release("a", f.claim("a"), true)
	if j := f.job(id); j.State != store.Discarded || j.Attempts != 2 {
		t.Errorf("the last of the budget: %+v", j)
	}
	f.consistent()
}

func TestAJobThatKeepsLosingItsWorkerComesBackAtOnceThenLaterThenEnds(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{MaxAttempts: 3})
	for n, want := range []store.State{store.Available, store.Retryable, store.Discarded} {
		f.exec(`update fenceline.jobs set run_at = run_at - interval '1 hour' where id = $1 and state = 'retryable'`, id)
		f.exec(`update fenceline.transitions set run_at = (select run_at from fenceline.jobs where id = $1) where job_id = $1 and type = 'expired'`, id)
		if _, err := f.Promote(f.ctx, 10); err != nil {
			t.Fatal(err)
		}
		f.claim("a")
		f.lapse(id)
		if f.expire() != 1 {
			t.Fatal("nothing expired")
		}
		j := f.job(id)
		if j.State != want || j.Attempts != n+1 {
			t.Fatalf("after expiry %d: %s, %d attempts", n+1, j.State, j.Attempts)
		}
		ts, _ := f.history(id)
		last := ts[len(ts)-1]
		if want == store.Retryable && (!j.RunAt.After(last.At) || j.RunAt.Sub(last.At) > time.Second) {
			t.Errorf("due %s after the expiry", j.RunAt.Sub(last.At))
		}
		if want == store.Discarded && last.Reason != store.ReasonBudgetSpent {
			t.Errorf("record %+v", last)
		}
	}
	if len(f.claimAs("a", 5)) != 0 {
		t.Error("claimed beyond the budget")
	}
	f.consistent()
}

func TestScheduledAndRetryableJobsAreClaimedOnceTheyAreDue(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{RunAt: time.Now().Add(time.Hour)})
	if f.job(id).State != store.Scheduled {
		t.Fatal("not scheduled")
	}
	if n, _ := f.Promote(f.ctx, 10); n != 0 || len(f.claimAs("a", 1)) != 0 {
		t.Error("claimed before it was due")
	}
	f.exec(`update fenceline.jobs set run_at = clock_timestamp() where id = $1`, id)
	f.exec(`update fenceline.transitions set run_at = (select run_at from fenceline.jobs where id = $1) where job_id = $1`, id)
	if d, waiting, err := f.NextDue(f.ctx); err != nil || !waiting || d > 0 {
		t.Errorf("next due in %s, %v %v", d, waiting, err)
	}
	if n, _ := f.Promote(f.ctx, 10); n != 1 {
		t.Error("not promoted")
	}
	f.fail("a", store.Failure{Lease: f.claim("a"), Delay: time.Microsecond})
	if n, _ := f.Promote(f.ctx, 10); n != 1 {
		t.Error("not promoted after its failure")
	}
	f.complete("a", f.claim("a"), `1`)
	f.consistent()
}

func TestFollowUpsExistIfAndOnlyIfTheResultWasAccepted(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	ups := []store.FollowUp{
		{Name: "mail", Request: store.Request{Kind: "mail", Args: json.RawMessage(`{"n": 12345678901234567890}`)}},
		{Name: "later", Request: store.Request{Kind: "mail", RunAt: time.Now().Add(time.Hour), Queue: "slow"}},
	}
	offer := func(l store.Lease) store.Outcome {
		out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: l, Result: []byte(`1`), FollowUps: ups, Output: "words"}})
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	children := func() int { return value[int](f, "select count(*) from fenceline.jobs where parent_id = $1", id) }
	a := f.claim("a")
	f.lapse(id)
	if out := offer(a); !errors.Is(out.Err, store.ErrStale) || children() != 0 {
		t.Fatalf("a refused result left %d follow-ups: %+v", children(), out)
	}
	f.expire()
	b := f.claim("b")
	if out := offer(b); out.Err != nil || out.Linked != 0 || children() != 2 {
		t.Fatalf("%+v, %d follow-ups", out, children())
	}
	if out := offer(b); !out.Repeated || children() != 2 {
		t.Errorf("repeat: %+v, %d follow-ups", out, children())
	}
	f.operate(f.Requeue, id)
	for _, c := range f.claimAs("c", 5) {
		if c.Lease.JobID != id {
			continue
		}
		if out := offer(c.Lease); out.Err != nil || out.Linked != 2 || children() != 2 {
			t.Errorf("rerun: %+v, %d follow-ups", out, children())
		}
	}
	if args := value[string](f, "select args->>'n' from fenceline.jobs where parent_id = $1 and follow_name = 'mail'", id); args != "12345678901234567890" {
		t.Errorf("args %s", args)
	}
	f.consistent()
	if r, err := f.Verify(f.ctx); err != nil || !r.OK {
		t.Errorf("%+v %v", r, err)
	}
}

func TestABadFollowUpIsNamedAndNothingIsOffered(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claim("a")
	for field, ups := range map[string][]store.FollowUp{
		"follow_ups[0].name":         {{Request: store.Request{Kind: "mail"}}},
		"follow_ups[0].kind":         {{Name: "x"}},
		"follow_ups[1].name":         {{Name: "x", Request: store.Request{Kind: "mail"}}, {Name: "x", Request: store.Request{Kind: "mail"}}},
		"follow_ups[0].key":          {{Name: "x", Request: store.Request{Kind: "mail", Key: "k"}}},
		"follow_ups[0].args.a[1].b ": nil,
	} {
		if ups == nil {
			field = strings.TrimSpace(field)
			ups = []store.FollowUp{{Name: "x", Request: store.Request{Kind: "mail", Args: json.RawMessage(`{"a": [1, {"b": "\u0000"}]}`)}}}
		}
		out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: l, FollowUps: ups}})
		var invalid *store.InvalidError
		if err != nil || !errors.As(out[0].Err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %+v %v", field, out, err)
		}
	}
	if f.job(id).State != store.Running {
		t.Error("the job changed")
	}
}

func TestClaimsTakeHandledKindsInOrder(t *testing.T) {
	f := open(t)
	low := f.enqueue(store.Request{Priority: 5})
	other := f.enqueue(store.Request{Kind: "mail", Priority: -5})
	elsewhere := f.enqueue(store.Request{Queue: "slow", Priority: -5})
	first, second := f.enqueue(store.Request{}), f.enqueue(store.Request{})
	var got []int64
	for range 3 {
		got = append(got, f.claim("a").JobID)
	}
	if !slices.Equal(got, []int64{first, second, low}) {
		t.Errorf("claimed %v, want %v", got, []int64{first, second, low})
	}
	if f.job(other).State != store.Available || f.job(elsewhere).State != store.Available {
		t.Error("claimed a kind or a queue that is not handled")
	}
	c, err := f.Claim(f.ctx, store.ClaimParams{Worker: "b", Queue: "slow", AttemptIDs: attempts(3),
		Kinds: []store.KindLease{{Kind: "mail", Lease: time.Second}, {Kind: "report", Lease: time.Minute}}})
	if err != nil || len(c) != 1 || c[0].Lease.Until.Sub(f.job(elsewhere).ClaimedAt) != time.Minute {
		t.Errorf("%+v %v", c, err)
	}
}
