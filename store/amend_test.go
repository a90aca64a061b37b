package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// seen is an operator's action on a job as it is now.
func (f *fixture) seen(id int64) store.OperatorParams {
	f.t.Helper()
	return store.OperatorParams{JobID: id, Seen: f.job(id).Revision, Actor: "oncall", Reason: "because"}
}

func priority(n int16) *int16 { return &n }

func raw(text string) store.NewArgs { return store.NewArgs{Args: json.RawMessage(text)} }

type doing func(store.OperatorParams) (store.Job, error)

func (f *fixture) amending(c store.Change) doing {
	return func(p store.OperatorParams) (store.Job, error) { return f.Amend(f.ctx, p, c) }
}

func (f *fixture) doing(do func(context.Context, store.OperatorParams) (store.Job, error)) doing {
	return func(p store.OperatorParams) (store.Job, error) { return do(f.ctx, p) }
}

// Each change and each state: where it leads, or the conflict and the field that
// it names; and a change that is refused changes nothing.
func TestWhatAnOperatorCanChangeInWhichState(t *testing.T) {
	f := open(t)
	later := time.Now().Add(2 * time.Hour)
	const stays = store.State("")
	type refused struct {
		why   store.Conflict
		field string
	}
	running := func(field string) any { return refused{store.ConflictRunning, field} }
	ended := func(field string) any { return refused{store.ConflictAlreadyEnded, field} }
	waiting := refused{store.ConflictNotEnded, ""}
	states := []store.State{store.Running, store.Retryable, store.Discarded, store.Completed, store.Terminated, store.Scheduled, store.Available}
	for _, c := range []struct {
		what string
		do   doing
		logs store.Type
		want [7]any // in the order of states
	}{
		{"args", f.amending(store.Change{NewArgs: raw(`{"n": 2}`)}), store.TypeAmended,
			[7]any{running("args"), stays, ended("args"), ended("args"), ended("args"), stays, stays}},
		{"later", f.amending(store.Change{RunAt: later}), store.TypeAmended,
			[7]any{running("run_at"), stays, ended("run_at"), ended("run_at"), ended("run_at"), stays, store.Scheduled}},
		{"now", f.amending(store.Change{RunAt: time.Unix(1, 0)}), store.TypeAmended,
			[7]any{running("run_at"), store.Available, ended("run_at"), ended("run_at"), ended("run_at"), store.Available, stays}},
		{"queue", f.amending(store.Change{Queue: "other"}), store.TypeAmended,
			[7]any{running("queue"), stays, stays, stays, stays, stays, stays}},
		{"the rest", f.amending(store.Change{Priority: priority(-3), MaxAttempts: 20, AddTag: "vip"}), store.TypeAmended,
			[7]any{stays, stays, stays, stays, stays, stays, stays}},
		{"note", f.doing(f.Note), store.TypeNoted, [7]any{stays, stays, stays, stays, stays, stays, stays}},
		{"erase", f.doing(f.Erase), store.TypeErased, [7]any{waiting, waiting, stays, stays, stays, waiting, waiting}},
		{"duplicate", func(p store.OperatorParams) (store.Job, error) {
			if _, err := f.Duplicate(f.ctx, p, store.Change{Queue: "copies"}); err != nil {
				return store.Job{}, err
			}
			return f.job(p.JobID), nil
		}, store.TypeDuplicated, [7]any{stays, stays, stays, stays, stays, stays, stays}},
	} {
		for i, state := range states {
			id := f.in(state)
			before, p := f.job(id), f.seen(id)
			after, err := c.do(p)
			outcome := value[string](f, "select outcome from fenceline.audit where job_id = $1 order by id desc limit 1", id)
			name := c.what + " of " + string(state)
			if want, no := c.want[i].(refused); no {
				var conflict *store.ConflictError
				if !errors.As(err, &conflict) || conflict.Why != want.why || conflict.Field != want.field || !strings.Contains(err.Error(), want.field) ||
					!equal(conflict.Job, before) || !equal(f.job(id), before) || outcome != string(want.why) {
					t.Errorf("%s: %v, audit %q", name, err, outcome)
				}
			} else {
				want := c.want[i].(store.State)
				if want == stays {
					want = state
				}
				ts, _ := f.history(id)
				last := ts[len(ts)-1]
				if err != nil || after.State != want || after.Revision != before.Revision+1 || !equal(after, f.job(id)) || outcome != "done" ||
					after.Generation != before.Generation || after.AttemptID != before.AttemptID || after.LeaseUntil != before.LeaseUntil || after.FinishedAt != before.FinishedAt {
					t.Errorf("%s: %v, audit %q\n%+v\n%+v", name, err, outcome, before, after)
				}
				if last.Type != c.logs || last.Actor != "oncall" || last.Reason != "because" || last.From != state || last.To != want {
					t.Errorf("%s: record %+v", name, last)
				}
				// What was seen has passed.
				var conflict *store.ConflictError
				if _, err := c.do(p); !errors.As(err, &conflict) || conflict.Why != store.ConflictChanged {
					t.Errorf("%s again: %v", name, err)
				}
			}
			if !f.job(id).State.Terminal() {
				f.operate(f.Terminate, id) // out of the next one's way
			}
		}
	}
	f.consistent()
	if r := f.verify(); !r.OK {
		t.Errorf("%+v", r.Violations)
	}
}

// A running attempt is not touched by what does not concern it, and a requeue
// with other args takes its lease away first.
func TestAnAttemptNeverHoldsALeaseAndOtherArgsThanItsJob(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{Args: json.RawMessage(`{"n":1}`)})
	a := f.claim("a")
	f.operate(f.Note, id)
	if _, err := f.Amend(f.ctx, f.seen(id), store.Change{Priority: priority(5), AddTag: "x", MaxAttempts: 11}); err != nil {
		t.Fatal(err)
	}
	if out := f.renew("a", a); out.Err != nil {
		t.Errorf("the attempt lost its lease: %v", out.Err)
	}
	if _, err := f.RequeueWith(f.ctx, f.seen(id), raw(`{"n":2}`)); err != nil {
		t.Fatal(err)
	}
	f.wantStale(f.complete("a", a, `1`), store.OpComplete, store.ReasonAlreadyEnded, f.job(id))
	b := f.claimAs("b", 1)
	if len(b) != 1 || string(b[0].Args) != `{"n": 2}` || b[0].Lease.Generation != 2 {
		t.Fatalf("%+v", b)
	}
	if out := f.complete("b", b[0].Lease, `2`); out.Err != nil {
		t.Error(out.Err)
	}
	_, h := f.history(id)
	if len(h.Lanes) != 2 || h.Lanes[0].Args != 1 || h.Lanes[1].Args != 2 || h.ArgsVersion != 2 {
		t.Errorf("%+v", h)
	}
	f.consistent()
}

func TestAChangeThatCannotBeNamesItsFieldAndChangesNothing(t *testing.T) {
	f := open(t)
	full := make([]string, store.MaxTags)
	for i := range full {
		full[i] = fmt.Sprint("t", i)
	}
	id := f.enqueue(store.Request{Args: json.RawMessage(`{"pin":"canary"}`), MaxAttempts: 5, Tags: full})
	before := f.job(id)
	for i, c := range []struct {
		field string
		store.Change
	}{
		{"args", store.Change{NewArgs: raw(`{"pin":"canary"`)}},
		{"args", store.Change{NewArgs: raw(``)}},
		{"args.x", store.Change{NewArgs: raw(`{"pin":"canary","x":"\u0000"}`)}},
		{"args", store.Change{NewArgs: raw(`"` + strings.Repeat("x", store.MaxArgs) + `"`)}},
		{"args", store.Change{NewArgs: raw(` {"pin" : "canary"}`), Priority: priority(3)}}, // what it has
		{"restore", store.Change{NewArgs: store.NewArgs{Restore: 2}}},
		{"restore", store.Change{NewArgs: store.NewArgs{Restore: -1}}},
		{"restore", store.Change{NewArgs: store.NewArgs{Restore: 1, Args: json.RawMessage(`1`)}}},
		{"restore", store.Change{NewArgs: store.NewArgs{Restore: 1}}},
		{"priority", store.Change{Priority: priority(0), AddTag: "x", RemoveTag: "t1"}},
		{"queue", store.Change{Queue: "default"}},
		{"queue", store.Change{Queue: "a\nb"}},
		{"queue", store.Change{Queue: strings.Repeat("x", store.MaxQueue+1)}},
		{"run_at", store.Change{RunAt: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"max_attempts", store.Change{MaxAttempts: 5}},
		{"max_attempts", store.Change{MaxAttempts: -1}},
		{"max_attempts", store.Change{MaxAttempts: store.MaxAttempts + 1}},
		{"add_tag", store.Change{AddTag: "t1"}},
		{"add_tag", store.Change{AddTag: "one too many"}},
		{"add_tag", store.Change{AddTag: "a\x00"}},
		{"remove_tag", store.Change{RemoveTag: "none"}},
		{"remove_tag", store.Change{RemoveTag: "none", AddTag: "none"}},
		{"change", store.Change{}},
	} {
		var invalid *store.InvalidError
		if _, err := f.Amend(f.ctx, f.seen(id), c.Change); !errors.As(err, &invalid) || invalid.Field != c.field || strings.Contains(err.Error(), "canary") {
			t.Errorf("%d: want %s, got %v", i, c.field, err)
		}
	}
	var invalid *store.InvalidError
	if _, err := f.Duplicate(f.ctx, f.seen(id), store.Change{AddTag: "one too many"}); !errors.As(err, &invalid) || invalid.Field != "add_tag" {
		t.Error(err)
	}
	for name, do := range map[string]doing{"note": f.doing(f.Note), "erase": f.doing(f.Erase), "amend": f.amending(store.Change{Queue: "q"})} {
		p := f.seen(id)
		p.Reason = " "
		if _, err := do(p); !errors.As(err, &invalid) || invalid.Field != "reason" {
			t.Errorf("%s without a reason: %v", name, err)
		}
		p = f.seen(id)
		p.JobID = 1 << 50
		if _, err := do(p); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of no job: %v", name, err)
		}
	}
	// The limit of versions, without a hundred changes.
	f.exec("update fenceline.jobs set args_version = $2 where id = $1", id, store.MaxArgsVersions)
	if _, err := f.Amend(f.ctx, f.seen(id), store.Change{NewArgs: raw(`1`)}); !errors.As(err, &invalid) || invalid.Field != "args" {
		t.Error(err)
	}
	f.exec("update fenceline.jobs set args_version = null where id = $1", id)
	if after := f.job(id); !equal(after, before) {
		t.Errorf("%+v after %+v", after, before)
	}
	if n := value[int](f, "select count(*) from fenceline.audit"); n != 0 {
		t.Errorf("%d entries in the audit", n)
	}
	// When the audit cannot be written, nothing happens.
	f.exec(`alter table fenceline.audit add constraint full_disk check (actor <> 'oncall')`)
	for name, do := range map[string]doing{"note": f.doing(f.Note), "amend": f.amending(store.Change{Queue: "q"}),
		"duplicate": func(p store.OperatorParams) (store.Job, error) { return f.Duplicate(f.ctx, p, store.Change{}) }} {
		if _, err := do(f.seen(id)); err == nil || !equal(f.job(id), before) {
			t.Errorf("%s without a record: %v", name, err)
		}
	}
	if n := value[int](f, "select count(*) from fenceline.jobs"); n != 1 {
		t.Errorf("%d jobs", n)
	}
	f.consistent()
}

// Programs of before know nothing of erasure: the database keeps what they would
// requeue from running without args.
func TestTheDatabaseItselfKeepsWhatIsErasedFromRunning(t *testing.T) {
	f := open(t)
	id := f.in(store.Discarded)
	f.operate(f.Erase, id)
	if _, err := f.runtime().Exec(f.ctx, "update fenceline.jobs set state = 'available', finished_at = null where id = $1", id); code(err) != "23514" {
		t.Errorf("%v", err)
	}
	// And erase_left touches nothing of a job that is not.
	other := f.in(store.Discarded)
	if _, err := f.runtime().Exec(f.ctx, "select fenceline.erase_left($1)", other); err != nil {
		t.Fatal(err)
	}
	if fails, err := f.Failures(f.ctx, other); err != nil || len(fails) != 1 || fails[0].Message == "" {
		t.Errorf("%+v %v", fails, err)
	}
	for _, refused := range []string{"delete from fenceline.args_versions", "update fenceline.args_versions set args = '1'"} {
		if _, err := f.runtime().Exec(f.ctx, refused); code(err) != "42501" {
			t.Errorf("%s: %v, want permission denied", refused, err)
		}
	}
}
