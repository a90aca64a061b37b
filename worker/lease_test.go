package worker

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// blocking is a handler that says when it started and returns when it is told,
// whatever its context says.
type blocking struct {
	started chan Job[json.RawMessage]
	ctx     chan context.Context
	proceed chan error
}

func newBlocking() *blocking {
	return &blocking{make(chan Job[json.RawMessage], 10), make(chan context.Context, 10), make(chan error, 10)}
}

func (b *blocking) handle(ctx context.Context, job Job[json.RawMessage]) (int64, error) {
	b.started <- job
	b.ctx <- ctx
	return job.Attempt.Generation, <-b.proceed
}

// takeAway moves the row, not the clock.
func takeAway(t *testing.T, url string, id int64) {
	t.Helper()
	do(t, owner(t, url), `update fenceline.jobs set lease_until = clock_timestamp() - interval '1 second' where id = $1`, id)
}

// Case B04, reliability test 10: the same worker claims its own expired job.
func TestAWorkersOwnOlderAttemptIsRefused(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	id := enqueueKind(t, st, "slow")
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "slow", b.handle)
	run(t, p)
	first := receive(t, b.started)
	takeAway(t, url, id)
	second := receive(t, b.started)
	b.proceed <- nil
	b.proceed <- nil
	job := awaitState(t, st, id, store.Completed)
	storetest.Await(t, "the older attempt's result is refused", func() bool {
		return len(only(transitions(t, st, id), store.TypeRejected)) > 0 && p.Stats().Unsettled == 0
	})
	if first.Attempt.ID == second.Attempt.ID || second.Attempt.Generation != 2 {
		t.Errorf("attempts %+v and %+v", first.Attempt, second.Attempt)
	}
	if job.ResultAttemptID != second.Attempt.ID || result(t, st, id) != "2" {
		t.Errorf("the stored result %s is of %s", result(t, st, id), job.ResultAttemptID)
	}
	refused := 0
	for _, tr := range transitions(t, st, id) {
		if tr.Type == store.TypeRejected && tr.Op == store.OpComplete {
			refused++
			if tr.AttemptID != first.Attempt.ID || tr.Generation != 1 || tr.Worker != p.ID() {
				t.Errorf("refused: %+v", tr)
			}
		}
	}
	if refused != 1 {
		t.Errorf("%d refused completions, want 1", refused)
	}
}

// Reliability test 4: a stale failure schedules no retry.
func TestALateFailureSchedulesNoRetry(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	id := enqueueKind(t, st, "slow")
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "slow", b.handle)
	run(t, p)
	receive(t, b.started)
	takeAway(t, url, id)
	receive(t, b.started)
	b.proceed <- errTest
	storetest.Await(t, "the late failure is refused", func() bool {
		for _, word := range refusals(t, st, id) {
			if word == "rejected fail superseded" {
				return true
			}
		}
		return false
	})
	if job := jobNow(t, st, id); job.State != store.Running || job.Generation != 2 {
		t.Errorf("the job is %s in generation %d", job.State, job.Generation)
	}
	b.proceed <- nil
	awaitState(t, st, id, store.Completed)
}

// Case B05, reliability test 13.
func TestATerminatedJobsHandlerIsCancelledAndItsResultRefused(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "slow")
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "slow", b.handle, Options{Lease: steady})
	run(t, p)
	job := receive(t, b.started)
	ctx := receive(t, b.ctx)
	_, err := st.Terminate(t.Context(), store.OperatorParams{JobID: id, Seen: jobNow(t, st, id).Revision, Actor: "test", Reason: "wrong customer"})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatal("the handler was not cancelled")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrTerminated) || !errors.Is(cause, store.ErrStale) {
		t.Errorf("cause = %v", cause)
	}
	if err := job.Attempt.Check(ctx); !errors.Is(err, ErrTerminated) {
		t.Errorf("Check = %v", err)
	}
	b.proceed <- nil
	storetest.Await(t, "both refusals are recorded", func() bool { return len(refusals(t, st, id)) == 2 })
	expect(t, "refusals", refusals(t, st, id), "rejected renew terminated", "rejected complete terminated")
	if job := jobNow(t, st, id); job.State != store.Terminated {
		t.Errorf("the job is %s", job.State)
	}
	consistent(t, st)
}

func TestALongHandlerKeepsItsLease(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "slow")
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "slow", b.handle, Options{Lease: steady})
	run(t, p)
	job, ctx := receive(t, b.started), receive(t, b.ctx)
	storetest.Await(t, "five renewals are recorded", func() bool {
		return len(only(transitions(t, st, id), store.TypeRenewed)) >= 4
	})
	if err := job.Attempt.Check(ctx); err != nil {
		t.Errorf("Check = %v", err)
	}
	b.proceed <- nil
	awaitState(t, st, id, store.Completed)
	expect(t, "transitions", only(transitions(t, st, id), store.TypeExpired, store.TypeRejected))
}

// Case B11, reliability test 37: a worker whose clock is wrong by ten minutes.
func TestAWrongClockOfTheWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := storetest.New(t)
			id := enqueueKind(t, st, "slow")
			b := newBlocking()
			cfg := config(t)
			cfg.Clock = func() time.Time { return time.Now().Add(skew) }
			p := New(st, cfg)
			Handle(p, "slow", b.handle, Options{Lease: steady})
			run(t, p)
			job, ctx := receive(t, b.started), receive(t, b.ctx)
			storetest.Await(t, "the lease was renewed for longer than it is", func() bool {
				return len(only(transitions(t, st, id), store.TypeRenewed)) >= 4
			})
			if err := job.Attempt.Check(ctx); err != nil {
				t.Errorf("Check = %v", err)
			}
			now, err := st.Clock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, tr := range transitions(t, st, id) {
				if d := now.Sub(tr.At); d < 0 || d > time.Minute {
					t.Errorf("%s is recorded %s before the database's now", tr.Type, d)
				}
			}
			b.proceed <- nil
			awaitState(t, st, id, store.Completed)
			expect(t, "transitions", only(transitions(t, st, id), store.TypeExpired, store.TypeRejected))
		})
	}
}

// Case B30, reliability test 33: handlers that hold every connection of the
// store for many leases.
func TestHandlersThatHoldEveryConnectionCannotStarveRenewals(t *testing.T) {
	t.Parallel()
	_, url := storetest.NewWithURL(t)
	st := storetest.Open(t, store.Config{URL: url, MaxConns: 4, LockTimeout: time.Minute, StatementTimeout: time.Minute})
	other := storetest.Open(t, store.Config{URL: url})
	blocked := enqueue(t, other, store.Request{Kind: "other", Queue: "elsewhere"})
	ids := make([]int64, 10)
	for i := range ids {
		ids[i] = enqueueKind(t, other, "hold")
	}
	conn := owner(t, url)
	do(t, conn, "begin")
	do(t, conn, "select from fenceline.jobs where id = $1 for update", blocked)

	cfg := config(t)
	cfg.Queues = map[string]int{"default": 10}
	p := New(st, cfg)
	Handle(p, "hold", handler(func(ctx context.Context, job Job[json.RawMessage]) error {
		// Waits for the row, holding one of the four connections.
		st.Terminate(ctx, store.OperatorParams{JobID: blocked, Seen: 1, Actor: "test", Reason: "hold"})
		return job.Attempt.Check(ctx)
	}), Options{Lease: steady})
	run(t, p)
	storetest.Await(t, "every lease was renewed for longer than it is", func() bool {
		for _, id := range ids {
			if len(only(transitions(t, other, id), store.TypeRenewed)) < 4 {
				return false
			}
		}
		return true
	})
	do(t, conn, "commit")
	for _, id := range ids {
		awaitState(t, other, id, store.Completed)
		expect(t, "transitions", only(transitions(t, other, id), store.TypeExpired, store.TypeRejected, store.TypeFailed))
	}
}

func TestAHandlerThatIgnoresItsTimeoutLosesTheJob(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "stuck")
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "stuck", b.handle, Options{Lease: brief, Timeout: 3 * time.Second})
	run(t, p)
	receive(t, b.started)
	ctx := receive(t, b.ctx)
	receive(t, ctx.Done())
	if !errors.Is(context.Cause(ctx), ErrTimeout) {
		t.Errorf("cause = %v", context.Cause(ctx))
	}
	second := receive(t, b.started)
	if second.Attempt.Generation != 2 {
		t.Errorf("generation = %d", second.Attempt.Generation)
	}
	b.proceed <- nil
	b.proceed <- nil
	awaitState(t, st, id, store.Completed)
}

func TestATimeoutIsAFailureThatIsRetried(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "slow")
	p := New(st, config(t))
	Handle(p, "slow", handler(func(ctx context.Context, job Job[json.RawMessage]) error {
		if job.Attempt.Number > 1 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}), Options{Timeout: 50 * time.Millisecond})
	run(t, p)
	awaitState(t, st, id, store.Completed)
	if errs := failures(t, st, id); len(errs) != 1 || errs[0].Class != "timeout" {
		t.Errorf("stored errors: %+v", errs)
	}
}
