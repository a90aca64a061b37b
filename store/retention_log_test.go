package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// shortenLog takes steps until a pass is over. It may have to wait for writers of
// other databases on the same server.
func (f *fixture) shortenLog(keep time.Duration) {
	f.t.Helper()
	f.shortenUntil("the pass is over", keep, "select log_pass is null from fenceline.retention")
}

func (f *fixture) shortenUntil(what string, keep time.Duration, sql string) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		more, err := f.ShortenLog(f.ctx, keep)
		if err != nil {
			f.t.Fatal(err)
		}
		if value[bool](f, sql) {
			return
		}
		if !more {
			time.Sleep(5 * time.Millisecond)
		}
	}
	f.t.Fatalf("it never came true that %s", what)
}

func TestEveryJobGetsABaselineBeforeItsDaysAreDropped(t *testing.T) {
	f := open(t)
	jobs := f.cast()
	f.past(31)
	f.operate(f.Requeue, jobs["failed"]) // has a history on both sides
	late := f.enqueue(store.Request{})
	before, pictures := f.pictures(), len(f.partitions())
	report := f.holds()
	f.shortenLog(keep)
	if n := len(f.partitions()); n >= pictures || n < 31 {
		t.Errorf("%d of %d partitions are left", n, pictures)
	}
	r := f.holds()
	if r.LogBefore.IsZero() || r.Jobs != report.Jobs || r.Transitions >= report.Transitions {
		t.Errorf("%+v after %+v", r, report)
	}
	f.consistent()
	for id, h := range f.pictures() {
		whole := id == late
		if h.Before.IsZero() != whole || !whole && !h.Before.Equal(r.LogBefore) {
			t.Errorf("job %d: history before %s is gone, %s says the log", id, h.Before, r.LogBefore)
		}
		if got, want := last(h), last(before[id]); got != want {
			t.Errorf("job %d: the last lane\n%s, was\n%s", id, got, want)
		}
		if h.FollowUps != before[id].FollowUps || h.ResultBy != before[id].ResultBy || !h.FinishedAt.Equal(before[id].FinishedAt) {
			t.Errorf("job %d: %+v, was %+v", id, h, before[id])
		}
	}
	view, err := f.JobView(f.ctx, jobs["late"])
	if err != nil || len(view.Transitions) != 1 || view.Transitions[0].Detail.Count != 4 || view.Transitions[0].Detail.First.IsZero() {
		t.Errorf("%+v %v", view.Transitions, err)
	}
	if more, err := f.ShortenLog(f.ctx, keep); more || err != nil || value[bool](f, "select log_pass is not null from fenceline.retention") {
		t.Errorf("nothing is left to do, and a pass began: %v", err)
	}
	f.wholeLife()

	// Once more, when the baselines are old themselves.
	f.past(31)
	f.shortenLog(keep)
	f.consistent()
	f.holds()
	view, err = f.JobView(f.ctx, jobs["late"])
	if n := len(view.Transitions); err != nil || n == 0 || view.Transitions[0].Type != store.TypeBaseline || view.Transitions[0].Detail.Count < 4 {
		t.Errorf("%+v %v", view.Transitions, err)
	}
}

// pictures folds every job's log.
func (f *fixture) pictures() map[int64]store.History {
	f.t.Helper()
	all := map[int64]store.History{}
	for _, id := range f.ids() {
		_, all[id] = f.history(id)
	}
	return all
}

// last is what is known of the last attempt's life.
func last(h store.History) string {
	for _, l := range h.Lanes {
		if l.AttemptID == h.AttemptID {
			return fmt.Sprint(l.Generation, l.Worker, l.ClaimedAt, l.LeaseUntil, l.End, l.EndedAt, l.Reason)
		}
	}
	return "none"
}

func TestABaselineLiesWhereItLastsAsLongAsItsJobsRest(t *testing.T) {
	f := open(t)
	resting, moved := f.enqueue(store.Request{Priority: 1}), f.enqueue(store.Request{})
	f.past(60)
	f.claim("a")
	f.past(5)
	f.shortenLog(keep)
	boundary := f.holds().LogBefore
	if at := value[time.Time](f, "select at from fenceline.transitions where job_id = $1", resting); time.Since(at) > 2*day {
		t.Errorf("the baseline of a job at rest lies at %s", at)
	}
	f.past(20)
	f.complete("a", store.Lease{JobID: moved, AttemptID: f.job(moved).AttemptID, Generation: 1}, `1`)
	f.shortenLog(keep)
	if r := f.holds(); !r.LogBefore.After(boundary.Add(-20 * day)) {
		t.Errorf("%+v", r)
	}
	f.consistent()
}

func TestDaysThatLieInTheRestAreRemovedToo(t *testing.T) {
	f := open(t)
	jobs := f.cast()
	f.past(33, 33, 32)
	if n := value[int](f, "select count(*) from fenceline.transitions_rest"); n == 0 {
		t.Fatal("nothing lies in the rest")
	}
	f.shortenLog(keep)
	if n := value[int](f, "select count(*) from fenceline.transitions_rest"); n != 0 {
		t.Errorf("%d transitions are left in the rest", n)
	}
	f.consistent()
	f.holds()
	if ts, _ := f.history(jobs["late"]); len(ts) != 1 {
		t.Errorf("%+v", ts)
	}
}

// An enqueueing by SQL in a transaction that stays open for days writes on the
// day on which it was called, and shows it when it is too late for a baseline.
func TestTheLogIsNotShortenedBeforeAnOpenTransactionThatMayHaveWrittenInIt(t *testing.T) {
	f := open(t)
	f.cast()
	f.past(31)
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	var id int64
	if err := tx.QueryRow(f.ctx, "select id from fenceline.enqueue('report')").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(f.ctx, "update fenceline.transitions set at = at - interval '31 days', run_at = run_at - interval '31 days' where job_id = $1", id); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(f.ctx, "update fenceline.jobs set created_at = created_at - interval '31 days', run_at = run_at - interval '31 days' where id = $1", id); err != nil {
		t.Fatal(err)
	}
	before := f.partitions()
	f.shortenUntil("a pass has begun", keep, "select log_pass is not null from fenceline.retention")
	for range 20 {
		if _, err := f.ShortenLog(f.ctx, keep); err != nil {
			t.Fatal(err)
		}
	}
	if n := value[int](f, "select count(*) from fenceline.transitions where type = 'baseline'"); n != 0 {
		t.Errorf("%d baselines were written while a transaction was open", n)
	}
	if !slices.Equal(f.partitions(), before) {
		t.Error("partitions were dropped while a transaction was open")
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.shortenLog(keep)
	if len(f.partitions()) >= len(before) {
		t.Error("no partition was dropped after it had ended")
	}
	if ts, _ := f.history(id); len(ts) != 1 || ts[0].Type != store.TypeBaseline {
		t.Errorf("%+v", ts)
	}
	f.holds()
}

func TestALongReadingOfTheLogHoldsUpNeitherVerbsNorItsShortening(t *testing.T) {
	f := open(t)
	f.cast()
	f.past(31)
	reading, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(f.ctx, "select count(*) from fenceline.transitions"); err != nil {
		t.Fatal(err)
	}
	before := len(f.partitions())
	f.shortenUntil("the baselines are written", keep, "select log_pass is not null and log_after is null from fenceline.retention")
	if more, err := f.ShortenLog(f.ctx, keep); more || err != nil || len(f.partitions()) != before {
		t.Error("a partition was dropped under a reader")
	}
	f.holds() // baselines and what they stand for are there together
	f.consistent()
	f.wholeLife()
	if err := reading.Rollback(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.shortenLog(keep)
	if len(f.partitions()) >= before {
		t.Error("no partition was dropped after the reading")
	}
	f.holds()
}

// Wherever a log is cut, a fold from the baseline goes on as the whole one does,
// also while the baseline and what it stands for are both there.
func TestAFoldFromABaselineIsTheFoldOfTheWholeLog(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 400 {
		s := newScribe().enqueue([]store.State{store.Available, store.Scheduled}[random.IntN(2)])
		for range random.IntN(30) {
			s.anything(random)
		}
		whole := store.Fold(s.log)
		first := 1 + random.IntN(len(s.log))
		head := store.Fold(s.log[:first])
		base := throughJSON(t, head.Baseline(s.now))
		again := first + random.IntN(len(s.log)-first+1)
		second := store.Fold(append([]store.Transition{base}, s.log[first:again]...))
		rebased := throughJSON(t, second.Baseline(s.now))
		for name, log := range map[string][]store.Transition{
			"cut":                slices.Concat([]store.Transition{base}, s.log[first:]),
			"cut twice":          slices.Concat([]store.Transition{rebased}, s.log[again:]),
			"not yet cut":        slices.Concat(s.log[:first], []store.Transition{base}, s.log[first:]),
			"not yet cut, tied":  slices.Concat(s.log[:first-1], []store.Transition{base}, s.log[first-1:]),
			"not yet cut, twice": slices.Concat([]store.Transition{base}, s.log[first:again], []store.Transition{rebased}, s.log[again:]),
		} {
			h := store.Fold(log)
			if len(h.Violations)+len(h.Differences(s.row)) != 0 || h.FollowUps != whole.FollowUps || last(h) != last(whole) || h.Last != whole.Last {
				t.Fatalf("seed %d, %s at %d and %d: %v %v\n%+v", seed, name, first, again, h.Violations, h.Differences(s.row), log)
			}
			if wants := name == "cut" || name == "cut twice" || name == "not yet cut, twice"; wants == h.Before.IsZero() && first > 1 {
				t.Fatalf("%s: before %s", name, h.Before)
			}
		}
		if rebased.Detail.Count != again || !rebased.Detail.First.Equal(s.log[0].At) {
			t.Fatalf("the baseline of %d transitions says %+v", again, rebased.Detail)
		}
	}
}

// throughJSON is the transition as it is read again.
func throughJSON(t *testing.T, tr store.Transition) store.Transition {
	t.Helper()
	raw, err := json.Marshal(tr.Detail)
	if err != nil || len(raw) > 512 {
		t.Fatalf("%s %v", raw, err)
	}
	tr.Detail = store.Detail{}
	if err := json.Unmarshal(raw, &tr.Detail); err != nil {
		t.Fatal(err)
	}
	return tr
}
