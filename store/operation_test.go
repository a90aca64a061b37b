package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// failed makes n jobs that have been discarded with an error.
func (f *fixture) failed(n int, message string) []int64 {
	f.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = f.enqueue(store.Request{MaxAttempts: 1})
	}
	f.failAll(n, message)
	return ids
}

func (f *fixture) failAll(n int, message string) {
	f.t.Helper()
	var failures []store.Failure
	for _, c := range f.claimAs("w", n) {
		failures = append(failures, store.Failure{Lease: c.Lease, Permanent: true, Reason: store.ReasonPermanent,
			Error: store.AttemptError{Class: "boom", Message: message}})
	}
	if _, err := f.Fail(f.ctx, "w", failures); err != nil || len(failures) != n {
		f.t.Fatalf("failed %d of %d: %v", len(failures), n, err)
	}
}

func (f *fixture) preview(action store.Action, line string) store.Operation {
	f.t.Helper()
	o, err := f.PreviewOperation(f.ctx, store.OperationRequest{Action: action, Actor: "oncall", Filter: store.Filter{Query: parsed(line)}})
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func (f *fixture) confirm(o store.Operation, rules store.Rules) store.Operation {
	f.t.Helper()
	o, repeated, err := f.ConfirmOperation(f.ctx, store.OperationParams{ID: o.ID, Seen: o.Revision, Actor: "oncall", Reason: "input fixed", Rules: rules})
	if err != nil || repeated {
		f.t.Fatal(repeated, err)
	}
	return o
}

// carried takes steps until no operation is under way.
func (f *fixture) carried(s *store.Store) (steps int) {
	f.t.Helper()
	for {
		step, err := s.StepOperation(f.ctx, "w-1")
		if err != nil {
			f.t.Fatal(err)
		}
		if step.ID == 0 && step.Next < 0 {
			return steps
		}
		if step.ID == 0 {
			time.Sleep(step.Next) // the rest after a step
			continue
		}
		steps++
	}
}

func (f *fixture) operation(id int64) store.OperationView {
	f.t.Helper()
	v, err := f.OperationView(f.ctx, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func TestAnOperationActsOnItsSnapshotAndNamesWhatItLeavesAlone(t *testing.T) {
	f := open(t)
	ids := f.failed(600, "no such customer")
	o := f.preview(store.ActionRequeue, "state:discarded")
	if o.Total != 600 || o.State != store.OperationPreview || o.States[store.Discarded] != 600 || len(o.Expected) != 0 || o.Words != "state is discarded" {
		t.Fatalf("the preview is %+v", o)
	}
	if steps := f.carried(f.Store); steps != 0 || f.job(ids[0]).State != store.Discarded {
		t.Fatal("a preview did something")
	}
	late := f.failed(1, "came later")[0]
	f.operate(f.Requeue, ids[7]) // changes after the snapshot
	f.exec("delete from fenceline.attempt_errors where job_id = $1", ids[9])
	f.exec("delete from fenceline.transitions where job_id = $1", ids[9])
	f.exec("delete from fenceline.jobs where id = $1", ids[9])

	o = f.confirm(o, store.Rules{})
	// A second press does nothing, whatever it says.
	again, repeated, err := f.ConfirmOperation(f.ctx, store.OperationParams{ID: o.ID, Seen: 1, Actor: "other", Reason: "me too", Rules: store.Rules{Pace: 1}})
	if err != nil || !repeated || again.ConfirmedBy != "oncall" || again.Pace != 0 || again.Revision != o.Revision {
		t.Errorf("a second press: %+v %v %v", again, repeated, err)
	}
	if steps := f.carried(f.Store); steps != 3 {
		t.Errorf("%d steps for 600 jobs", steps)
	}
	v := f.operation(o.ID)
	if v.Operation.State != store.OperationFinished || v.Operation.Done != 598 || v.Operation.Skipped() != 2 || v.Operation.Worker != "w-1" {
		t.Errorf("at its end it is %+v", v.Operation)
	}
	why := map[int64]store.Conflict{}
	for _, s := range v.Skips {
		why[s.JobID] = s.Why
	}
	if len(why) != 2 || why[ids[7]] != store.ConflictChanged || why[ids[9]] != store.ConflictGone || v.SkippedBy[store.ConflictChanged] != 1 {
		t.Errorf("left alone: %v", v.Skips)
	}
	if f.job(late).State != store.Discarded {
		t.Error("a job that came later was requeued")
	}
	ts, _ := f.history(ids[0])
	if last := ts[len(ts)-1]; last.Type != store.TypeRequeued || last.Actor != "oncall" || last.Reason != "input fixed" || last.Detail.Operation != o.ID {
		t.Errorf("the timeline says %+v", last)
	}
	if n := value[int](f, "select count(*) from fenceline.audit where action = 'requeue' and outcome = 'done' and detail ->> 'operation' = $1", fmt.Sprint(o.ID)); n != 598 {
		t.Errorf("%d jobs in the audit", n)
	}
	if len(v.Events) != 3 || v.Events[0].Action != "finish" || v.Events[2].Action != "confirm" || v.Events[1].Outcome != "repeated" || v.Events[1].Actor != "other" {
		t.Errorf("its events are %+v", v.Events)
	}
	if r := f.verify(); !r.OK {
		t.Errorf("%d violations, the first: %+v", len(r.Violations), r.Violations[:1])
	}
}

func TestTickedJobsAreTakenAsTheyWereSeen(t *testing.T) {
	f := open(t)
	waiting, running := f.enqueue(store.Request{Kind: "other"}), f.enqueue(store.Request{})
	seen := f.job(running).Revision
	lost := f.claim("w")
	ended := f.in(store.Terminated)
	o, err := f.PreviewOperation(f.ctx, store.OperationRequest{Action: store.ActionTerminate, Actor: "oncall", Ticked: []store.Ticked{
		{waiting, f.job(waiting).Revision}, {running, seen}, {ended, f.job(ended).Revision}, {1 << 40, 3}}})
	if err != nil || o.Total != 4 || o.Expected[store.ConflictChanged] != 1 || o.Expected[store.ConflictAlreadyEnded] != 1 || o.Expected[store.ConflictGone] != 1 {
		t.Fatalf("%+v %v", o, err)
	}
	f.confirm(o, store.Rules{})
	f.carried(f.Store)
	if got := f.operation(o.ID).Operation; got.Done != 1 || f.job(waiting).State != store.Terminated || f.job(running).State != store.Running {
		t.Errorf("%+v", got)
	}
	f.complete("w", lost, "1")

	for field, r := range map[string]store.OperationRequest{
		"action":           {Action: "erase", Actor: "x"},
		"q":                {Action: store.ActionRequeue, Actor: "x", Filter: store.Filter{Kind: "nowhere"}},
		"jobs[1].id":       {Action: store.ActionRequeue, Actor: "x", Ticked: []store.Ticked{{1, 1}, {1, 1}}},
		"jobs[0].revision": {Action: store.ActionRequeue, Actor: "x", Ticked: []store.Ticked{{1, 0}}},
		"jobs":             {Action: store.ActionRequeue, Actor: "x", Ticked: make([]store.Ticked, store.MaxTicked+1)},
	} {
		var invalid *store.InvalidError
		if _, err := f.PreviewOperation(f.ctx, r); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := f.PreviewOperation(f.ctx, store.OperationRequest{Action: store.ActionRequeue, Actor: "x", Filter: store.Filter{Query: parsed("args.a:1")}}); err == nil {
		t.Error("a search in args was kept in the open")
	}
	// What a list shows in an order that holds some states only is what is selected.
	o, err = f.PreviewOperation(f.ctx, store.OperationRequest{Action: store.ActionRequeue, Actor: "x", Filter: store.Filter{Order: store.OrderFinished}})
	if err != nil || o.Total != 3 || o.Words != "state is completed or discarded or terminated" {
		t.Errorf("%+v %v", o, err)
	}
}

func TestAnOperationIsPausedResumedAndCancelledBetweenSteps(t *testing.T) {
	f := open(t)
	f.failed(600, "x")
	o := f.confirm(f.preview(store.ActionRequeue, "state:discarded"), store.Rules{})
	if step, err := f.StepOperation(f.ctx, "w-1"); err != nil || step.Position != 250 {
		t.Fatalf("%+v %v", step, err)
	}
	if rests := value[bool](f, "select next_at - stepped_at > interval '1 ms' from fenceline.operations"); !rests {
		t.Error("without a pace it leaves no moment to those who claim")
	}
	change := func(do func(context.Context, store.OperationParams) (store.Operation, error), seen int64) (store.Operation, error) {
		return do(f.ctx, store.OperationParams{ID: o.ID, Seen: seen, Actor: "oncall", Reason: "look first"})
	}
	paused, err := change(f.PauseOperation, o.Revision)
	if err != nil || paused.State != store.OperationPaused || f.carried(f.Store) != 0 {
		t.Fatalf("%+v %v", paused, err)
	}
	var conflict *store.OperationConflictError
	if _, err := change(f.PauseOperation, o.Revision); !errors.As(err, &conflict) || conflict.Operation.State != store.OperationPaused {
		t.Errorf("a second pause: %v", err)
	}
	if _, err := change(f.ResumeOperation, o.Revision); !errors.As(err, &conflict) {
		t.Errorf("on what is no longer so: %v", err)
	}
	resumed, err := f.ResumeOperation(f.ctx, store.OperationParams{ID: o.ID, Seen: paused.Revision, Actor: "oncall", Reason: "slowly", Rules: store.Rules{Pace: 60}})
	if err != nil || resumed.Pace != 60 {
		t.Fatalf("%+v %v", resumed, err)
	}
	step, err := f.StepOperation(f.ctx, "w-1")
	if err != nil || step.Position != 251 || step.Next <= 0 {
		t.Errorf("one a second: %+v %v", step, err)
	}
	if waits, err := f.StepOperation(f.ctx, "w-2"); err != nil || waits.ID != 0 && waits.Position > 252 {
		t.Errorf("ahead of its pace: %+v %v", waits, err)
	}
	cancelled, err := change(f.CancelOperation, resumed.Revision)
	if err != nil || cancelled.State != store.OperationCancelled || f.carried(f.Store) != 0 || cancelled.FinishedAt.IsZero() {
		t.Errorf("%+v %v", cancelled, err)
	}
	if _, err := change(f.ResumeOperation, cancelled.Revision); !errors.As(err, &conflict) {
		t.Errorf("after its end: %v", err)
	}
	for field, p := range map[string]store.OperationParams{
		"reason":        {ID: o.ID, Seen: 1, Actor: "x"},
		"seen.revision": {ID: o.ID, Actor: "x", Reason: "x"},
		"pace":          {ID: o.ID, Seen: 1, Actor: "x", Reason: "x", Rules: store.Rules{Pace: -1}},
		"halt_above":    {ID: o.ID, Seen: 1, Actor: "x", Reason: "x", Rules: store.Rules{HaltAbove: 100}},
	} {
		var invalid *store.InvalidError
		if _, _, err := f.ConfirmOperation(f.ctx, p); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := f.Operation(f.ctx, 1<<40); !errors.Is(err, store.ErrNoOperation) {
		t.Errorf("an operation that is not: %v", err)
	}
}

// Four processes, some of which are cut off in the middle, and one that requeues
// by hand: each job is requeued once.
func TestProcessesThatCarryAnOperationTogetherDoubleNothing(t *testing.T) {
	f := open(t)
	f.failed(1000, "x")
	f.failed(1000, "x")
	o := f.confirm(f.preview(store.ActionRequeue, "state:discarded"), store.Rules{})
	var wg sync.WaitGroup
	for i := range 4 {
		s := storetest.Open(t, store.Config{URL: f.url})
		wg.Go(func() {
			for n := 0; ; n++ {
				ctx, cut := context.WithCancel(f.ctx)
				if i == 3 && n < 10 {
					go cut() // now or a little later: in any place
				}
				_, err := s.StepOperation(ctx, fmt.Sprint("w-", i))
				cut()
				if err != nil && i != 3 {
					t.Error(err)
					return
				}
				if now, err := s.Operation(f.ctx, o.ID); err != nil || now.Over() {
					return
				}
			}
		})
	}
	wg.Wait()
	if got := f.operation(o.ID).Operation; got.Done != 2000 || got.Skipped() != 0 || got.State != store.OperationFinished {
		t.Errorf("%+v", got)
	}
	if n := value[int](f, "select count(*) from fenceline.transitions where type = 'requeued'"); n != 2000 {
		t.Errorf("%d requeues of 2000 jobs", n)
	}
	if r := f.verify(); !r.OK {
		t.Errorf("%d violations, the first: %+v", len(r.Violations), r.Violations[:1])
	}
}

func TestAnOperationHaltsWhenItsJobsFailAgainWithTheSameError(t *testing.T) {
	f := open(t)
	f.failed(40, "no such customer")
	o := f.confirm(f.preview(store.ActionRequeue, "state:discarded"), store.Rules{Pace: 1200, HaltAbove: 50})
	step := func() store.OperationStep {
		f.exec("update fenceline.operations set next_at = clock_timestamp(), judged_at = null")
		step, err := f.StepOperation(f.ctx, "w-1")
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
	if got := step(); got.Position != 20 || got.State != store.OperationRunning {
		t.Fatalf("%+v", got)
	}
	for i, c := range f.claimAs("w", 12) {
		if i%2 == 0 {
			f.complete("w", c.Lease, "1")
		} else {
			f.fail("w", store.Failure{Lease: c.Lease, Permanent: true, Error: store.AttemptError{Class: "boom", Message: "no such customer"}})
		}
	}
	if got := step(); got.Position != 40 || got.State != store.OperationFinished {
		t.Errorf("half of 12 is not more than 50%%: %+v", got)
	}

	g := open2(t)
	g.failed(40, "no such customer")
	o = g.confirm(g.preview(store.ActionRequeue, "state:discarded"), store.Rules{Pace: 1200, HaltAbove: 50})
	if _, err := g.StepOperation(g.ctx, "w-1"); err != nil {
		t.Fatal(err)
	}
	g.failAll(11, "no such customer")
	g.exec("update fenceline.operations set next_at = clock_timestamp(), judged_at = null")
	halted, err := g.StepOperation(g.ctx, "w-1")
	if err != nil || halted.State != store.OperationHalted {
		t.Fatalf("%+v %v", halted, err)
	}
	v := g.operation(o.ID)
	if v.Operation.State != store.OperationHalted || v.Operation.Position != 20 || v.Operation.HaltReason != "11 of 11 jobs that ran again failed with the same error, which is more than 50%" || v.Events[0].Action != "halt" {
		t.Errorf("%+v", v)
	}
	if g.carried(g.Store) != 0 {
		t.Error("it went on")
	}
	// The rule of a resumption judges what is requeued from then on, as strictly.
	resumed, err := g.ResumeOperation(g.ctx, store.OperationParams{ID: o.ID, Seen: v.Operation.Revision, Actor: "bo", Reason: "the customer is back", Rules: store.Rules{Pace: 600, HaltAbove: 30}})
	if err != nil || resumed.ResumedAt.IsZero() || !resumed.ConfirmedAt.Equal(v.Operation.ConfirmedAt) {
		t.Fatalf("%+v %v", resumed, err)
	}
	again := func() store.OperationStep {
		g.exec("update fenceline.operations set next_at = clock_timestamp(), judged_at = null")
		step, err := g.StepOperation(g.ctx, "w-1")
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
	if got := again(); got.State != store.OperationRunning || got.Position != 30 {
		t.Fatalf("old failures are judged again: %+v", got)
	}
	g.failAll(19, "no such customer") // nine requeued before the resumption, ten since
	if got := again(); got.State != store.OperationHalted || got.Position != 30 {
		t.Errorf("%+v", got)
	}
	if o := g.operation(o.ID).Operation; o.HaltReason != "10 of 10 jobs that ran again failed with the same error, which is more than 30%" || !o.ResumedAt.Equal(resumed.ResumedAt) {
		t.Errorf("%+v", o)
	}
	p := g.preview(store.ActionTerminate, "state:discarded")
	var invalid *store.InvalidError
	if _, _, err := g.ConfirmOperation(g.ctx, store.OperationParams{ID: p.ID, Seen: p.Revision, Actor: "x", Reason: "x", Rules: store.Rules{HaltAbove: 5}}); !errors.As(err, &invalid) || invalid.Field != "halt_above" {
		t.Errorf("a stop rule for what does not run again: %v", err)
	}
}

// open2 is one more database in the same test.
func open2(t *testing.T) *fixture {
	t.Helper()
	s, url := storetest.NewWithURL(t)
	f := &fixture{Store: s, t: t, ctx: t.Context(), url: url}
	f.owner = f.connect()
	return f
}

func TestAJobThatAnotherSessionKeepsIsNamedAndTheOthersGoThrough(t *testing.T) {
	f := open(t)
	ids := f.failed(30, "x")
	o := f.confirm(f.preview(store.ActionRequeue, "state:discarded"), store.Rules{})
	tx, err := f.owner.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(f.ctx, "select from fenceline.jobs where id = $1 for update", ids[4]); err != nil {
		t.Fatal(err)
	}
	f.carried(f.Store)
	if err := tx.Rollback(f.ctx); err != nil {
		t.Fatal(err)
	}
	v := f.operation(o.ID)
	if v.Operation.Done != 29 || len(v.Skips) != 1 || v.Skips[0].JobID != ids[4] || v.Skips[0].Why != store.ConflictBusy {
		t.Errorf("%+v", v)
	}
}

func TestWhatIsOverIsForgottenAndThePreviewsNobodyConfirmed(t *testing.T) {
	f := open(t)
	f.failed(3, "x")
	o, old := f.preview(store.ActionRequeue, ""), f.preview(store.ActionRequeue, "")
	f.exec("update fenceline.operations set created_at = created_at - interval '25 hours' where id = $1", old.ID)
	done := f.confirm(f.preview(store.ActionRequeue, ""), store.Rules{})
	f.carried(f.Store)
	f.exec("update fenceline.operations set finished_at = finished_at - interval '31 days' where id = $1", done.ID)
	if n, err := f.ForgetOperations(f.ctx, store.OperationKept); err != nil || n != 2 {
		t.Errorf("forgot %d, %v", n, err)
	}
	if n := value[int](f, "select count(*) from fenceline.operation_parts where operation_id <> $1", o.ID); n != 0 {
		t.Errorf("%d parts stay", n)
	}
	conn := f.runtime()
	for _, refused := range []string{"delete from fenceline.operations", "update fenceline.operation_parts set jobs = '{}'", "delete from fenceline.operation_skips", "update fenceline.operation_skips set why = ''"} {
		if _, err := conn.Exec(f.ctx, refused); code(err) != "42501" {
			t.Errorf("%s: %v, want permission denied", refused, err)
		}
	}
	if all, _, err := f.Operations(f.ctx); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
}

// Who takes a right away and was answered finds that nothing more is done on it.
func TestAStepAndTheLossOfItsRightWaitForEachOther(t *testing.T) {
	f := open(t)
	p, err := f.AddPerson(f.ctx, "test", "ada", store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightBulk}}, "x")
	if err != nil {
		t.Fatal(err)
	}
	f.failed(300, "x")
	o := f.preview(store.ActionRequeue, "state:discarded")
	if _, _, err := f.ConfirmOperation(f.ctx, store.OperationParams{ID: o.ID, Seen: o.Revision, Actor: "ada", Reason: "x", By: store.Mandate{PersonID: p.ID}}); err != nil {
		t.Fatal(err)
	}
	// The step has looked at the right, and is kept from its end.
	f.exec(`create table public.go ()`)
	f.exec(`create function public.wait() returns trigger language plpgsql security definer as $$
		begin while not exists (select from public.go) loop perform pg_sleep(0.01); end loop; return new; end $$`)
	f.exec(`create trigger wait before update on fenceline.operations for each row execute function public.wait()`)
	waits := func(event string) func() bool {
		return func() bool {
			return value[bool](f, `select exists (select from pg_stat_activity where datname = current_database() and $1 in (wait_event, wait_event_type))`, event)
		}
	}
	steps, lost := make(chan store.OperationStep, 1), make(chan int64, 1)
	go func() {
		step, err := f.StepOperation(f.ctx, "w-1")
		if err != nil {
			t.Error(err)
		}
		steps <- step
	}()
	f.until("the step waits", waits("PgSleep"))
	go func() {
		if _, err := f.Disable(f.ctx, "test", store.SeenPerson{Name: "ada"}); err != nil {
			t.Error(err)
		}
		now, err := f.Operation(f.ctx, o.ID)
		if err != nil {
			t.Error(err)
		}
		lost <- now.Position
	}()
	f.until("the other waits", waits("Lock"))
	f.exec(`insert into public.go default values`)
	if step, then := <-steps, <-lost; step.Position != 250 || then != 250 {
		t.Errorf("the step reached %d, and the answer came at %d", step.Position, then)
	}
	f.carried(f.Store)
	if now := f.operation(o.ID).Operation; now.State != store.OperationHalted || now.Position != 250 || now.HaltCode != store.HaltRightLost {
		t.Errorf("%+v", now)
	}
}
