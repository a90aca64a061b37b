package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	day  = 24 * time.Hour
	keep = 30 * day
)

// past moves all that is in the database into the past, where every day has its
// partition unless some are left out.
func (f *fixture) past(days int, without ...int) {
	f.t.Helper()
	for back := range days + 9 {
		if !slices.Contains(without, back) {
			f.exec(fmt.Sprintf(`do $$
				declare first timestamptz := date_trunc('day', now(), 'UTC') - interval '%d days';
				begin execute format('create table if not exists fenceline.%%I partition of fenceline.transitions for values from (%%L) to (%%L)',
					'transitions_' || to_char(first at time zone 'UTC', 'YYYYMMDD'), first, first + interval '1 day'); end $$`, back))
		}
	}
	by := time.Duration(days) * day
	for table, columns := range map[string][]string{
		"jobs":            {"created_at", "run_at", "claimed_at", "lease_until", "finished_at"},
		"transitions":     {"at", "lease_until", "run_at"},
		"attempt_errors":  {"at"},
		"attempt_outputs": {"at"},
		"unknown_writes":  {"at"},
	} {
		for _, column := range columns {
			f.exec(fmt.Sprintf("update fenceline.%s set %s = %s - $1::interval", table, column, column), by)
		}
	}
	f.exec(`update fenceline.transitions set detail = detail || jsonb_strip_nulls(jsonb_build_object(
		'first', (detail->>'first')::timestamptz - $1::interval, 'before', (detail->>'before')::timestamptz - $1::interval,
		'claimed_at', (detail->>'claimed_at')::timestamptz - $1::interval, 'ended_at', (detail->>'ended_at')::timestamptz - $1::interval,
		'finished_at', (detail->>'finished_at')::timestamptz - $1::interval)) where type = 'baseline'`, by)
	f.exec("update fenceline.retention set jobs_next = null, jobs_before = jobs_before - $1::interval, log_before = log_before - $1::interval", by)
}

// removeJobs takes every step of a pass.
func (f *fixture) removeJobs(keep time.Duration) (total int) {
	f.t.Helper()
	f.exec("update fenceline.retention set jobs_next = null")
	for more := true; more; {
		n, again, err := f.RemoveJobs(f.ctx, keep)
		if err != nil {
			f.t.Fatal(err)
		}
		total, more = total+n, again
	}
	return total
}

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

func (f *fixture) ids() []int64 {
	f.t.Helper()
	return value[[]int64](f, "select coalesce(array_agg(id order by id), '{}') from fenceline.jobs")
}

func (f *fixture) holds() store.Report {
	f.t.Helper()
	r := f.verify()
	if !r.OK {
		f.t.Errorf("%+v", r)
	}
	return r
}

func TestFinishedJobsGoWhenTheyAreOldAndNothingElseDoes(t *testing.T) {
	f := open(t)
	jobs := f.cast()
	f.operate(f.Terminate, jobs["failed"])
	f.past(29)
	if n := f.removeJobs(keep); n != 0 {
		t.Errorf("%d jobs of 29 days were removed", n)
	}
	f.past(2)
	audit := value[int](f, "select count(*) from fenceline.audit")
	if n := f.removeJobs(keep); n != 3 {
		t.Errorf("removed %d of done, failed and ended", n)
	}
	left := f.ids()
	for name, want := range map[string]bool{"done": false, "failed": false, "ended": false, "late": true, "running": true, "ready": true} {
		if slices.Contains(left, jobs[name]) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	for _, table := range []string{"attempt_errors", "attempt_outputs"} {
		if n := value[int](f, "select count(*) from fenceline."+table+" where job_id = any ($1)", []int64{jobs["done"], jobs["failed"], jobs["ended"]}); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if n := value[int](f, "select count(*) from fenceline.audit"); n != audit || n == 0 {
		t.Errorf("%d of %d entries of the audit are left", n, audit)
	}
	if _, err := f.Job(f.ctx, jobs["done"]); err != store.ErrNotFound {
		t.Errorf("the page of a removed job: %v", err)
	}
	if r := f.holds(); r.JobsBefore.IsZero() || !r.LogBefore.IsZero() {
		t.Errorf("%+v", r)
	}
	if h, err := f.Home(f.ctx); err != nil || h.Empty {
		t.Errorf("home %+v %v", h, err)
	}
	f.wholeLife()
}

func TestAnEmptyHomeIsNotANewOneOnceJobsWereRemoved(t *testing.T) {
	f := open(t)
	f.complete("a", func() store.Lease { f.enqueue(store.Request{}); return f.claim("a") }(), `1`)
	f.past(31)
	if n := f.removeJobs(keep); n != 1 || len(f.ids()) != 0 {
		t.Fatal(n)
	}
	if h, err := f.Home(f.ctx); err != nil || h.Empty {
		t.Errorf("%+v %v", h, err)
	}
	f.holds()
	f.shortenLog(keep)
	if r := f.holds(); r.Transitions != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAWriteForARemovedJobIsRefusedAndOnRecord(t *testing.T) {
	f := open(t)
	f.enqueue(store.Request{Key: "march"})
	l := f.claim("a")
	f.complete("a", l, `1`)
	f.past(31)
	f.removeJobs(keep)
	for _, out := range []store.Outcome{f.complete("a", l, `1`), f.renew("a", l)} {
		if stale, is := errors.AsType[*store.StaleError](out.Err); !is || stale.Reason != store.ReasonUnknownJob || stale.Current != 0 {
			t.Errorf("%+v", out)
		}
	}
	if n := value[int](f, "select count(*) from fenceline.unknown_writes where job_id = $1", l.JobID); n != 2 {
		t.Errorf("%d records", n)
	}
	if _, err := f.Requeue(f.ctx, store.OperatorParams{JobID: l.JobID, Seen: 3, Actor: "oncall", Reason: "again"}); err != store.ErrNotFound {
		t.Errorf("requeue: %v", err)
	}
	if again := f.enqueue(store.Request{Key: "march"}); again == l.JobID {
		t.Error("the key still leads to the removed job")
	}
	f.past(31)
	f.shortenLog(keep)
	if n := value[int](f, "select count(*) from fenceline.unknown_writes"); n != 0 {
		t.Errorf("%d records are left when they are old", n)
	}
	f.holds()
}

func TestFollowUpsStayWithTheirParent(t *testing.T) {
	f := open(t)
	parent := f.enqueue(store.Request{})
	up := []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "report", Priority: -1}}}
	if out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: f.claim("a"), Result: json.RawMessage(`1`), FollowUps: up}}); err != nil || out[0].Err != nil {
		t.Fatal(out, err)
	}
	child := f.claim("a")
	f.complete("a", child, `2`)
	f.operate(f.Requeue, parent)
	f.past(31)
	if n := f.removeJobs(keep); n != 0 || len(f.ids()) != 2 {
		t.Errorf("%d of a waiting parent and its follow-up were removed", n)
	}
	out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: f.claim("a"), Result: json.RawMessage(`1`), FollowUps: up}})
	if err != nil || out[0].Linked != 1 {
		t.Errorf("the rerun: %+v %v", out, err)
	}
	f.holds()
	f.past(31)
	if n := f.removeJobs(keep); n != 1 || !slices.Equal(f.ids(), []int64{child.JobID}) {
		t.Errorf("removed %d, left %v", n, f.ids())
	}
	f.holds()
	if n := f.removeJobs(keep); n != 1 || len(f.ids()) != 0 {
		t.Errorf("removed %d, left %v", n, f.ids())
	}
	f.holds()
}

func TestManyOldJobsGoInStepsThatLookAtAThousand(t *testing.T) {
	f := open(t)
	f.exec(`insert into fenceline.jobs (kind, state, generation, attempt_end, attempt_id, finished_at, created_at)
		select 'report', (array['completed', 'discarded', 'terminated'])[1 + i % 3]::fenceline.job_state, 1, 'completed', gen_random_uuid(), now() - interval '40 days', now() - interval '41 days'
		from generate_series(1, 3500) i`)
	kept := f.enqueue(store.Request{})
	for step, want := range []int{1000, 1000, 1000, 500} {
		n, more, err := f.RemoveJobs(f.ctx, keep)
		if n != want || more != (step < 3) || err != nil {
			t.Fatalf("step %d: %d %v %v", step, n, more, err)
		}
	}
	if n, more, err := f.RemoveJobs(f.ctx, keep); n != 0 || more || err != nil {
		t.Errorf("the pause: %d %v %v", n, more, err)
	}
	if !slices.Equal(f.ids(), []int64{kept}) {
		t.Errorf("left %v", f.ids())
	}
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

func TestTheRuntimeRoleMayNotRemoveWhatIsYoung(t *testing.T) {
	f := open(t)
	f.cast()
	conn := f.runtime()
	before := f.holds()
	for _, sql := range []string{
		"select * from fenceline.remove_jobs('0', 1000)",
		"select * from fenceline.remove_jobs('-1 year', 1000)",
		"update fenceline.retention set log_pass = now() + interval '1 year', log_xid = '3', log_after = null",
		"select fenceline.drop_log(1000)",
		"select fenceline.drop_log(1000)",
	} {
		if _, err := conn.Exec(f.ctx, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	f.exec("update fenceline.retention set log_pass = null, log_xid = null")
	if after := f.holds(); after.Jobs != before.Jobs || after.Transitions != before.Transitions {
		t.Errorf("%+v after %+v", after, before)
	}
	for what, err := range map[string]error{
		"jobs":        func() error { _, _, err := f.RemoveJobs(f.ctx, time.Minute); return err }(),
		"transitions": func() error { _, err := f.ShortenLog(f.ctx, 23*time.Hour); return err }(),
	} {
		if err == nil {
			t.Errorf("%s: a time that is too short was taken", what)
		}
	}
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
