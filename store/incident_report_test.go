package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

func (f *fixture) report(id int64) store.IncidentReport {
	f.t.Helper()
	r, err := f.IncidentReport(f.ctx, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// What was there before an incident was opened and what comes afterwards is
// kept, whoever counts, each job once; what comes after the resolve is not.
func TestAnIncidentKeepsTheJobsThatItTouches(t *testing.T) {
	f := open(t)
	priority := int16(100)
	lose := func(n int) { // new jobs, which go before those that lost a lease already
		priority--
		for range n {
			f.enqueue(store.Request{Kind: "report", Priority: priority})
		}
		for _, c := range f.claimAs("a", n) {
			f.lapse(c.Lease.JobID)
		}
		f.expire()
	}
	touched := func(id int64) store.Count { return f.incident(id).Touched }
	lose(3)
	f.enqueue(store.Request{Kind: "other"})
	f.rollAll()
	lose(1) // not counted yet when the incident is opened
	id := f.watch(time.Hour, spike).Opened[0].ID
	if got := touched(id); got.N != 4 || got.Capped {
		t.Fatalf("before it was opened: %+v", got)
	}
	f.rollAll()
	lose(2)
	f.rollAll()
	if got := touched(id); got.N != 6 {
		t.Errorf("after it was opened: %+v", got)
	}
	q, err := search.Parse("incident:1 kind:report")
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []store.Order{store.OrderNewest, store.OrderOldest} {
		if page, err := f.Jobs(f.ctx, store.Filter{Query: q, Order: order}); err != nil || len(page.Jobs) != 6 {
			t.Errorf("%s: the search finds %d jobs, %v", order, len(page.Jobs), err)
		}
	}
	for line, want := range map[string]int{"incident:2": 0, "-incident:1": 1, "incident:1..2": 6, "incident:1 state:available,retryable": 6, "incident:1 state:completed": 0} {
		q, err := search.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.Matching(f.ctx, store.Filter{Query: q}); err != nil || n.N != int64(want) {
			t.Errorf("%s matches %v, %v", line, n, err)
		}
	}
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentAcknowledge, Reason: "mine"}); err != nil {
		t.Fatal(err)
	}
	job := f.report(id).Jobs[0]
	if _, err := f.Terminate(f.ctx, store.OperatorParams{JobID: job.ID, Seen: job.Revision, Actor: "ada", Reason: "kills its worker"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.changeIncident(id, store.IncidentChange{Action: store.IncidentResolve, Reason: "the host is back"}); err != nil {
		t.Fatal(err)
	}
	lose(1)
	uncounted := f.report(id).Trend
	f.rollAll()
	r := f.report(id)
	for when, trend := range map[string]store.Trend{"read from the log": uncounted, "counted": r.Trend} {
		var n store.Tick
		for _, k := range trend.Ticks {
			n.Claimed, n.Expired, n.Completed = n.Claimed+k.Claimed, n.Expired+k.Expired, n.Completed+k.Completed
		}
		if n.Claimed != 7 || n.Expired != 7 || n.Completed != 0 || len(trend.Ticks) < 15 || trend.Step != time.Minute {
			t.Errorf("what happened around it, %s: %+v of %d", when, n, len(trend.Ticks))
		}
	}
	if r.Touched.N != 6 || len(r.Jobs) != 6 {
		t.Errorf("after the resolve: %+v, %d", r.Touched, len(r.Jobs))
	}
	if len(r.Deeds) != 1 || r.Deeds[0].Actor != "ada" || r.Deeds[0].Reason != "kills its worker" || r.Deeds[0].Jobs != 1 || r.Deeds[0].Outcome != "done" {
		t.Errorf("what was done: %+v", r.Deeds)
	}
	if h := r.Holders(); len(h) != 1 || h[0].By != "oncall" || !h[0].To.Equal(r.Line[len(r.Line)-1].At) {
		t.Errorf("who had it: %+v", h)
	}
	// What happened between the resolve and the reopening belongs to it again.
	if w := f.watch(time.Hour, spike); len(w.Reopened) != 1 {
		t.Fatalf("%+v", w)
	}
	if got := touched(id); got.N != 7 {
		t.Errorf("after it was opened again: %+v", got)
	}
	// The log counted anew makes it no other one.
	if _, err := f.RebuildRollups(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.rollAll()
	if got := touched(id); got.N != 7 {
		t.Errorf("after the counts were made again: %+v", got)
	}
	if _, err := f.IncidentReport(f.ctx, 99); !errors.Is(err, store.ErrNoIncident) {
		t.Error(err)
	}
	// Counts and jobs of what is long over go together, and the page says so.
	f.exec("update fenceline.incidents set state = 'resolved', resolved_at = now() - interval '40 days', resolved_in = pg_current_snapshot()")
	for more := true; more; {
		if more, err = f.ForgetRollups(f.ctx, 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if i := f.incident(id); i.Touched.N != 0 || !i.Incident.JobsSince.IsZero() || i.Incident.JobsSearch() != spike.Search {
		t.Errorf("after 40 days: %+v %+v", i.Touched, i.Incident)
	}
}

// Each operation that names the incident or changed a job of it stands on its
// timeline: who did what with it, when, and how far it had come. Others do not.
func TestOperationsOnAnIncidentsJobsStandOnItsTimeline(t *testing.T) {
	f := open(t)
	for range 3 {
		f.enqueue(store.Request{Kind: "report"})
	}
	other := f.enqueue(store.Request{Kind: "other"})
	for _, c := range f.claimAs("a", 3) {
		f.lapse(c.Lease.JobID)
	}
	f.expire()
	id := f.watch(time.Hour, spike).Opened[0].ID
	operations := func() (out []string) {
		for _, l := range f.incident(id).Line {
			if o := l.Operation; o.ID != 0 {
				out = append(out, fmt.Sprintf("%d %s %s by %s, %q: %d/%d, %d, pace %d", o.ID, o.Does, l.Action, l.Actor, l.Reason, o.DealtWith, o.Total, o.Changed, o.Pace))
			} else if l.Operation != (store.IncidentOperation{}) {
				t.Errorf("%+v", l)
			}
		}
		return out
	}
	preview := func(r store.OperationRequest) store.Operation {
		r.Actor = "ada"
		o, err := f.PreviewOperation(f.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	step := func() {
		f.exec("update fenceline.operations set next_at = clock_timestamp() where state = 'running'")
		if s, err := f.StepOperation(f.ctx, "w"); err != nil || s.ID == 0 {
			t.Fatal(s, err)
		}
	}
	revision := func(id int64) int64 {
		return value[int64](f, "select revision from fenceline.operations where id = $1", id)
	}
	q, err := search.Parse(fmt.Sprintf("incident:%d", id))
	if err != nil {
		t.Fatal(err)
	}
	all := preview(store.OperationRequest{Action: store.ActionTerminate, Filter: store.Filter{Query: q}})
	preview(store.OperationRequest{Action: store.ActionTerminate, Filter: store.Filter{Query: q}})
	if got := operations(); got != nil {
		t.Errorf("before anything began: %q", got)
	}
	p := store.OperationParams{ID: all.ID, Seen: all.Revision, Actor: "ada", Reason: "all of them", Rules: store.Rules{Pace: 120}}
	if _, _, err := f.ConfirmOperation(f.ctx, p); err != nil {
		t.Fatal(err)
	}
	step() // two of three
	p.Seen, p.Actor, p.Reason, p.Rules = revision(all.ID), "bob", "wait", store.Rules{}
	if _, err := f.PauseOperation(f.ctx, p); err != nil {
		t.Fatal(err)
	}
	if _, err := f.PauseOperation(f.ctx, p); err == nil { // refused, and so nothing that was done
		t.Fatal("paused twice")
	}
	ended := value[int64](f, "select min(id) from fenceline.jobs where state = 'terminated'")
	ticked := preview(store.OperationRequest{Action: store.ActionRequeue, Ticked: []store.Ticked{{JobID: ended, Revision: f.job(ended).Revision}, {JobID: other, Revision: 1}}})
	strange := preview(store.OperationRequest{Action: store.ActionTerminate, Ticked: []store.Ticked{{JobID: other, Revision: 1}}})
	for _, o := range []store.Operation{strange, ticked} {
		if _, _, err := f.ConfirmOperation(f.ctx, store.OperationParams{ID: o.ID, Seen: o.Revision, Actor: "eve", Reason: "mine"}); err != nil {
			t.Fatal(err)
		}
	}
	step()
	step()
	p.Seen, p.Reason = revision(all.ID), "go on"
	if _, err := f.ResumeOperation(f.ctx, p); err != nil {
		t.Fatal(err)
	}
	p.Seen, p.Reason = revision(all.ID), "enough"
	if _, err := f.CancelOperation(f.ctx, p); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`1 terminate confirm by ada, "all of them": 0/3, 0, pace 120`,
		`1 terminate pause by bob, "wait": 2/3, 0, pace 0`,
		fmt.Sprintf(`%d requeue confirm by eve, "mine": 0/2, 0, pace 0`, ticked.ID),
		fmt.Sprintf(`%d requeue finish by w, "": 2/2, 1, pace 0`, ticked.ID),
		`1 terminate resume by bob, "go on": 2/3, 0, pace 0`,
		`1 terminate cancel by bob, "enough": 2/3, 0, pace 0`,
	}
	if got := operations(); !slices.Equal(got, want) {
		t.Errorf("the timeline tells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The audit remembers them when they are gone.
	f.exec("delete from fenceline.operations")
	f.exec("update fenceline.incidents set opened_at = opened_at - interval '31 days'")
	if got := operations(); !slices.Equal(got, want) {
		t.Errorf("once the operations are gone the timeline tells\n%s", strings.Join(got, "\n"))
	}
}

func TestEachSortOfEvidenceTouchesItsJobsAndNoOthers(t *testing.T) {
	f := open(t)
	fail := func(kind, class string) int64 {
		id := f.enqueue(store.Request{Kind: kind})
		claimed, err := f.Claim(f.ctx, store.ClaimParams{Worker: "a", Queue: store.DefaultQueue, Kinds: []store.KindLease{{Kind: kind, Lease: lease}}, AttemptIDs: attempts(1)})
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		f.fail("a", store.Failure{Lease: claimed[0].Lease, Error: store.AttemptError{Class: class, Message: class}, Delay: time.Hour})
		return id
	}
	fail("report", "timeout")
	fail("report", "refused")
	fail("letter", "timeout")
	print := value[string](f, "select detail ->> 'class' from fenceline.transitions where type = 'failed' order by id limit 1")
	failed := []store.Type{store.TypeFailed}
	w := f.watch(time.Hour,
		store.Sighting{Rule: "failure-rate", Scope: "kind report", Kind: "report", Severity: "high", Types: failed},
		store.Sighting{Rule: "new-error", Scope: "a", Kind: "report", Fingerprint: print, Job: 1, Severity: "low", Types: failed},
		store.Sighting{Rule: "backlog", Scope: "queue mail", Queue: "mail", Severity: "low"})
	for n, want := range []int64{2, 1, 0} {
		if got := f.incident(w.Opened[n].ID).Touched.N; got != want {
			t.Errorf("%s: %d jobs, want %d", w.Opened[n].Rule, got, want)
		}
	}
	fail("report", "timeout")
	f.rollAll()
	// The charts are of the same kinds and queues, and as long as it took.
	f.exec("update fenceline.incidents set opened_at = now() - interval '20 days'")
	f.exec("insert into fenceline.rollups (minute, queue, kind, type, reason, n, marked, spans, span_ms, span_max_ms) select date_trunc('minute', now(), 'UTC') - interval '9 days', 'default', k, 'failed', '', 100, 0, 0, 0, 0 from unnest('{report,letter}'::text[]) k")
	for n, want := range []int64{103, 103, 0} {
		trend, failed := f.report(w.Opened[n].ID).Trend, int64(0)
		for _, k := range trend.Ticks {
			failed += k.Failed
		}
		if failed != want || trend.Step != 6*time.Hour || len(trend.Ticks) > 120 {
			t.Errorf("%s: %d failures in %d steps of %s, want %d", w.Opened[n].Rule, failed, len(trend.Ticks), trend.Step, want)
		}
	}
	for n, want := range []int64{3, 2, 0} {
		if got := f.incident(w.Opened[n].ID).Touched.N; got != want {
			t.Errorf("%s: %d jobs after one more, want %d", w.Opened[n].Rule, got, want)
		}
	}
}
