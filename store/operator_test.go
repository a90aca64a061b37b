package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// in makes a job that stands in the state, with its true history.
func (f *fixture) in(state store.State) int64 {
	f.t.Helper()
	r := store.Request{MaxAttempts: 1}
	if state == store.Scheduled {
		r.RunAt = time.Now().Add(time.Hour)
	}
	if state == store.Retryable {
		r.MaxAttempts = 2
	}
	id := f.enqueue(r)
	switch state {
	case store.Running:
		f.claim("a")
	case store.Retryable, store.Discarded:
		f.fail("a", store.Failure{Lease: f.claim("a"), Delay: time.Hour})
	case store.Completed:
		f.complete("a", f.claim("a"), `"kept"`)
	case store.Terminated:
		f.operate(f.Terminate, id)
	}
	if got := f.job(id).State; got != state {
		f.t.Fatalf("made a job that is %s, want %s", got, state)
	}
	return id
}

func TestRequeueAndTerminateOfEveryState(t *testing.T) {
	for _, c := range []struct {
		state                store.State
		requeued, terminated store.Conflict // empty: accepted
	}{
		{store.Scheduled, "", ""},
		{store.Available, store.ConflictAlreadyWaiting, ""},
		{store.Running, "", ""},
		{store.Retryable, "", ""},
		{store.Completed, "", store.ConflictAlreadyEnded},
		{store.Discarded, "", store.ConflictAlreadyEnded},
		{store.Terminated, "", store.ConflictAlreadyEnded},
	} {
		for action, want := range map[store.Action]store.Conflict{store.ActionRequeue: c.requeued, store.ActionTerminate: c.terminated} {
			t.Run(string(action)+" of "+string(c.state), func(t *testing.T) {
				f := open(t)
				id := f.in(c.state)
				before := f.job(id)
				do, left := f.Requeue, store.Available
				if action == store.ActionTerminate {
					do, left = f.Terminate, store.Terminated
				}
				after, err := do(f.ctx, store.OperatorParams{JobID: id, Seen: before.Revision, Actor: "oncall", Reason: "because"})
				outcome := value[string](f, "select outcome from fenceline.audit where job_id = $1 order by id desc limit 1", id)
				if want != "" {
					var conflict *store.ConflictError
					if !errors.As(err, &conflict) || conflict.Why != want || !equal(conflict.Job, before) || !equal(f.job(id), before) || outcome != string(want) {
						t.Errorf("%v, audit %q", err, outcome)
					}
					return
				}
				if err != nil || after.State != left || after.Revision != before.Revision+1 || outcome != "done" {
					t.Fatalf("%+v %v, audit %q", after, err, outcome)
				}
				ts, _ := f.history(id)
				last := ts[len(ts)-1]
				if last.Actor != "oncall" || last.Reason != "because" || last.From != c.state || last.To != left {
					t.Errorf("record %+v", last)
				}
				if action == store.ActionRequeue {
					if got := f.claim("b"); got.Generation != before.Generation+1 {
						t.Errorf("generation %d after %d", got.Generation, before.Generation)
					}
				} else if len(f.claimAs("b", 1)) != 0 {
					t.Error("a terminated job was claimed")
				}
				if c.state == store.Completed {
					if p, _ := f.Payload(f.ctx, id); string(p.Result) != `"kept"` {
						t.Errorf("the stored result is %s", p.Result)
					}
				}
				f.consistent()
			})
		}
	}
}

func TestATakenAwayAttemptIsRefusedByWhatTookIt(t *testing.T) {
	for action, reason := range map[store.Action]store.Reason{
		store.ActionRequeue: store.ReasonAlreadyEnded, store.ActionTerminate: store.ReasonTerminated,
	} {
		t.Run(string(action), func(t *testing.T) {
			f := open(t)
			id := f.enqueue(store.Request{})
			a := f.claim("a")
			do := f.Requeue
			if action == store.ActionTerminate {
				do = f.Terminate
			}
			f.operate(do, id)
			for op, offer := range offered {
				f.wantStale(offer(f, a), op, reason, f.job(id))
			}
			f.consistent()
		})
	}
}

func TestAnOperatorsActionIsBoundToTheRevisionSeen(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	seen := f.job(id).Revision
	a := f.claim("a")
	for _, do := range []func(store.OperatorParams) error{
		func(p store.OperatorParams) error { _, err := f.Requeue(f.ctx, p); return err },
		func(p store.OperatorParams) error { _, err := f.Terminate(f.ctx, p); return err },
	} {
		var conflict *store.ConflictError
		err := do(store.OperatorParams{JobID: id, Seen: seen, Actor: "oncall", Reason: "because"})
		if !errors.As(err, &conflict) || conflict.Why != store.ConflictChanged || conflict.Job.State != store.Running {
			t.Errorf("%v", err)
		}
	}
	// A renewal is no change that an operator must look at again.
	seen = f.job(id).Revision
	f.renew("a", a)
	if _, err := f.Terminate(f.ctx, store.OperatorParams{JobID: id, Seen: seen, Actor: "oncall", Reason: "because"}); err != nil {
		t.Error(err)
	}
	f.consistent()
}

func TestARequeuePressedTwentyTimesIsOneRequeue(t *testing.T) {
	f := open(t)
	id := f.in(store.Discarded)
	seen := f.job(id).Revision
	var done, changed int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := f.Requeue(f.ctx, store.OperatorParams{JobID: id, Seen: seen, Actor: "oncall", Reason: "again"})
			mu.Lock()
			defer mu.Unlock()
			var conflict *store.ConflictError
			switch {
			case err == nil:
				done++
			case errors.As(err, &conflict) && strings.Contains(err.Error(), "already waiting"):
				changed++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if done != 1 || changed != 19 {
		t.Errorf("%d done, %d told that it is already waiting", done, changed)
	}
	if n := value[int](f, "select count(*) from fenceline.transitions where job_id = $1 and type = 'requeued'", id); n != 1 {
		t.Errorf("%d requeues on record", n)
	}
	if l := f.claim("b"); l.Generation != 2 || len(f.claimAs("b", 5)) != 0 {
		t.Errorf("claimed generation %d", l.Generation)
	}
	f.consistent()
}

func TestAnActionThatCannotBeRecordedIsRefused(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	good := store.OperatorParams{JobID: id, Seen: 1, Actor: "oncall", Reason: "because"}
	for field, change := range map[string]func(*store.OperatorParams){
		"reason":        func(p *store.OperatorParams) { p.Reason = " \n" },
		"reason ":       func(p *store.OperatorParams) { p.Reason = "a\x00b" },
		"reason  ":      func(p *store.OperatorParams) { p.Reason = strings.Repeat("x", store.MaxReason+1) },
		"reason   ":     func(p *store.OperatorParams) { p.Reason = "\xff" },
		"actor":         func(p *store.OperatorParams) { p.Actor = "" },
		"seen.revision": func(p *store.OperatorParams) { p.Seen = 0 },
	} {
		p := good
		change(&p)
		var invalid *store.InvalidError
		if _, err := f.Requeue(f.ctx, p); !errors.As(err, &invalid) || invalid.Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	missing := good
	missing.JobID = 1 << 50
	if _, err := f.Terminate(f.ctx, missing); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	// When the audit cannot be written, the change does not happen.
	f.exec(`alter table fenceline.audit add constraint full_disk check (actor <> 'nobody')`)
	blocked := good
	blocked.Actor = "nobody"
	if _, err := f.Terminate(f.ctx, blocked); err == nil || f.job(id).State != store.Available {
		t.Errorf("%v, state %s", err, f.job(id).State)
	}
	if _, err := f.Reveal(f.ctx, id, "nobody"); err == nil {
		t.Error("revealed without a record")
	}
	if _, err := f.Reveal(f.ctx, id, "oncall"); err != nil {
		t.Error(err)
	}
	if n := value[int](f, "select count(*) from fenceline.audit where action = 'reveal' and actor = 'oncall'"); n != 1 {
		t.Errorf("%d reveals on record", n)
	}
}
