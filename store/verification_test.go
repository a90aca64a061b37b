package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/storetest"
)

// checkAll checks until the log's end is checked, and tells what was found and
// how many jobs were folded for it.
func (f *fixture) checkAll() (found []store.Violation, folded int) {
	f.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		did, err := f.VerifyNext(f.ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		found, folded = append(found, did.Found...), folded+did.Folded
		if did.Checked == 0 && value[bool](f, `select not exists (select from fenceline.transitions t, fenceline.verification v where (t.xid, t.id) > (v.xid, v.id))`) {
			return found, folded
		}
		if time.Now().After(deadline) {
			f.t.Fatal("the log is not checked to its end")
		}
		if did.Checked == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (f *fixture) verification() store.Verification {
	f.t.Helper()
	v, err := f.Verification(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// judged has the rules look, as the watch does.
func (f *fixture) judged() store.Watched {
	f.t.Helper()
	facts, err := f.Facts(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	var found []store.Sighting
	for _, d := range detect.Judge(facts, detect.Defaults()) {
		if d.Rule == store.RuleBroken {
			found = append(found, d.Sighting())
		}
	}
	return f.watch(time.Hour, found...)
}

// late has an attempt come back after another one has its job.
func (f *fixture) late() (id int64, a store.Lease) {
	f.t.Helper()
	id = f.enqueue(store.Request{})
	a = f.claim("a")
	f.lapse(id)
	f.expire()
	f.claim("b")
	return id, a
}

// accept writes what a late completion would write if nothing fenced it.
func (f *fixture) accept(a store.Lease) (transition int64) {
	f.t.Helper()
	return value[int64](f, `
with changed as (
  update fenceline.jobs set state = 'completed', result = '"late"', result_attempt_id = $2, result_generation = $3, revision = revision + 1, attempt_end = 'completed', finished_at = clock_timestamp()
  where id = $1 returning *
)
insert into fenceline.transitions (job_id, type, generation, attempt_id, revision, from_state, to_state, attempts_used, max_attempts, kind, queue, worker)
select id, 'completed', $3, $2, revision, 'running', 'completed', attempts_used, max_attempts, kind, queue, 'a' from changed returning id`, a.JobID, a.AttemptID, a.Generation)
}

func TestAnAcceptedStaleWriteIsNamedAndIsAnIncidentUntilAPersonResolvesIt(t *testing.T) {
	f := open(t)
	f.cast()
	f.wholeLife()
	_, _ = f.late()
	if found, _ := f.checkAll(); len(found) != 0 || len(f.judged().Opened) != 0 {
		t.Fatalf("found in a log that holds: %+v", found)
	}
	before := f.verification()
	if want := value[int64](f, "select count(*) from fenceline.transitions"); before.N != want || before.Violations != 0 || before.Since.IsZero() || before.Through.Before(before.Since) || before.At.IsZero() || !before.MissedUntil.IsZero() {
		t.Errorf("%d transitions: %+v", want, before)
	}

	id, a := f.late()
	planted := f.accept(a)
	again := storetest.Open(t, store.Config{URL: f.url}) // another process goes on
	if _, err := again.VerifyNext(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.checkAll()
	v := f.verification()
	if want := value[int64](f, "select count(*) from fenceline.transitions"); v.N != want || v.Stale != 1 || v.Open != 1 || len(v.Found) == 0 {
		t.Fatalf("%d transitions: %+v", want, v)
	}
	if got := v.Found[0]; got.Transition != planted || got.JobID != id || got.Invariant != "I4" || !got.Stale || !strings.Contains(got.Message, "generation 1 while 2 was current") {
		t.Errorf("%+v", got)
	}
	if h, err := f.Home(f.ctx); err != nil || h.Verified.Open != 1 || h.Verified.N != v.N {
		t.Errorf("home says %+v, %v", h.Verified, err)
	}
	if r := f.verify(); r.OK || r.Background.N != v.N || r.Background.Stale != 1 {
		t.Errorf("verify says %+v", r)
	}

	w := f.judged()
	if len(w.Opened) != 1 || w.Opened[0].Severity != "high" || w.Opened[0].Job != id || !strings.Contains(w.Opened[0].What, fmt.Sprintf("Transition %d of job %d breaks I4", planted, id)) {
		t.Fatalf("%+v", w)
	}
	f.exec("update fenceline.incidents set found_at = now() - interval '2 hours'")
	if w := f.judged(); len(w.Resolved) != 0 {
		t.Errorf("resolved by itself: %+v", w)
	}
	if _, err := f.changeIncident(w.Opened[0].ID, store.IncidentChange{Action: store.IncidentResolve, Reason: "the script that wrote is gone"}); err != nil {
		t.Fatal(err)
	}
	f.exec("update fenceline.incidents set found_at = now() - interval '2 hours'") // nobody watched for a while
	if w, v := f.judged(), f.verification(); len(w.Opened)+len(w.Reopened) != 0 || v.Unsettled != 0 || v.Stale != 1 {
		t.Errorf("a person had resolved it: %+v %+v", w, v)
	}
	_, a = f.late()
	f.accept(a)
	f.checkAll()
	if w := f.judged(); len(w.Reopened) != 1 {
		t.Errorf("another one: %+v", w)
	}
	// One write that breaks two invariants is one write.
	id, a = f.late()
	b := f.job(id)
	f.complete("b", store.Lease{JobID: id, AttemptID: b.AttemptID, Generation: b.Generation}, `"in time"`)
	planted = f.accept(a)
	f.checkAll()
	if n := value[int](f, "select count(*) from fenceline.violations where transition_id = $1 and stale", planted); n < 2 {
		t.Fatalf("%d violations of one write", n)
	}
	if v := f.verification(); v.Stale != 3 || v.Open != 3 {
		t.Errorf("three accepted writes, whose incident is open again: %d and %d", v.Stale, v.Open)
	}
}

// What a step doubts and folds is what a fold of every job finds; nothing that a
// fold finds is passed over.
func (f *fixture) checksWhatAFoldFinds(sql string) {
	f.t.Helper()
	f.exec("update fenceline.verification set xid = '0', id = 0")
	f.exec("delete from fenceline.violations")
	var want, got []string
	for _, id := range value[[]int64](f, "select array_agg(distinct job_id) from fenceline.transitions") {
		_, h := f.history(id)
		for _, v := range h.Violations {
			want = append(want, fmt.Sprint(v.Invariant, " ", v.Transition))
		}
	}
	found, _ := f.checkAll()
	for _, v := range found {
		if v.Invariant != "I8" { // which a fold does not see
			got = append(got, fmt.Sprint(v.Invariant, " ", v.Transition))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(want, got) {
		f.t.Errorf("%s: checked while it grows the log shows %v, folded %v", sql, got, want)
	}
}

// A job's transitions may be committed in another order than that of their
// transactions: each is held against what came before it in its job.
func TestATransitionPastTheHorizonIsCheckedOnceItIsSafe(t *testing.T) {
	f := open(t)
	f.checkAll()
	held := f.begin()
	f.enqueueIn(held)
	id := f.enqueue(store.Request{})
	f.complete("a", f.claim("a"), "1")
	for range 3 {
		if did, err := f.VerifyNext(f.ctx); err != nil || did.Checked != 0 {
			t.Fatalf("checked past an open transaction: %+v %v", did, err)
		}
	}
	later := value[time.Time](f, "select clock_timestamp()")
	if v := f.verification(); v.Through.After(later) || v.N != 0 {
		t.Errorf("%+v", v)
	}
	f.commit(held)
	if found, folded := f.checkAll(); len(found) != 0 || folded != 0 {
		t.Errorf("job %d: %+v, %d folded", id, found, folded)
	}
	if v := f.verification(); v.N != 4 || v.Through.Before(later) {
		t.Errorf("%+v", v)
	}
}

// An ordinary life raises no doubt, so that the check reads no more than a few
// rows of each transition, however long the job's log is.
func TestAnOrdinaryLifeIsCheckedWithoutFoldingIt(t *testing.T) {
	f := open(t)
	f.enqueue(store.Request{})
	a := f.claim("a")
	for range 20 {
		f.renew("a", a)
	}
	f.fail("a", store.Failure{Lease: a, Delay: time.Hour})
	f.exec("update fenceline.jobs set run_at = now() where state = 'retryable'")
	if _, err := f.Promote(f.ctx, 10); err != nil {
		t.Fatal(err)
	}
	f.release("a", f.claim("a"), true)
	b := f.claim("b")
	f.complete("a", a, "1")
	f.complete("b", b, "2")
	id := f.enqueue(store.Request{})
	c := f.claim("c")
	f.lapse(id)
	f.expire()
	f.complete("c", c, "3")
	f.complete("d", f.claim("d"), "4")
	found, folded := f.checkAll()
	if len(found) != 0 || folded != 0 {
		t.Errorf("%+v, %d jobs were folded", found, folded)
	}
	f.operate(f.Requeue, id)
	if found, folded := f.checkAll(); len(found) != 0 || folded != 1 {
		t.Errorf("an operator's: %+v, %d jobs were folded", found, folded)
	}
}

// What retention has removed is not blamed on the log, and what it may have
// removed unchecked is told.
func TestTheCheckGoesOnBehindWhatRetentionRemoved(t *testing.T) {
	f := open(t)
	jobs := f.cast()
	f.past(3)
	f.shortenLog(store.MinKeepTransitions)
	if n := value[int64](f, "select count(*) from fenceline.transitions where type = 'baseline'"); n == 0 {
		t.Fatal("the test shows nothing: no baseline was written")
	}
	f.operate(f.Requeue, jobs["done"])
	f.complete("z", f.claim("z"), "1")
	if found, _ := f.checkAll(); len(found) != 0 {
		t.Fatalf("%+v", found)
	}
	v := f.verification()
	if want := value[int64](f, "select count(*) from fenceline.transitions where type <> 'baseline'"); v.N != want || v.Beginless != 0 || !v.MissedUntil.IsZero() {
		t.Errorf("%d are left: %+v", want, v)
	}
	// A log whose beginning went with its job, as it is found after an upgrade.
	f.exec(`insert into fenceline.transitions (job_id, type, generation, attempt_id, revision, from_state, to_state, attempts_used, max_attempts, kind, queue)
		values (999999, 'completed', 1, gen_random_uuid(), 3, 'running', 'completed', 1, 10, 'report', 'default')`)
	if found, _ := f.checkAll(); len(found) != 0 || f.verification().Beginless != 1 {
		t.Errorf("%+v %+v", found, f.verification())
	}
	// Nothing checked for days, and the log went on being shortened.
	f.exec("update fenceline.verification set through = (select log_before - interval '2 hours' from fenceline.retention)")
	f.enqueue(store.Request{})
	f.checkAll()
	if v := f.verification(); v.MissedUntil.Sub(v.MissedFrom) != 2*time.Hour {
		t.Errorf("%+v", v)
	}
}
