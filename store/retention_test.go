package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
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
