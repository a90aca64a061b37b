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

func TestRunningHandlersFinishWithinTheGraceTime(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	b := newBlocking()
	p := New(st, config(t))
	Handle(p, "slow", b.handle)
	r := run(t, p)
	ids := []int64{enqueueKind(t, st, "slow"), enqueueKind(t, st, "slow"), enqueueKind(t, st, "slow")}
	for range ids {
		receive(t, b.started)
	}
	waiting := enqueue(t, st, store.Request{Kind: "slow", Queue: "default"})
	receive(t, b.started) // the fourth slot
	r.stop()
	late := enqueueKind(t, st, "slow")
	for range 4 {
		ctx := receive(t, b.ctx)
		if ctx.Err() != nil {
			t.Error("a handler was cancelled within its grace time")
		}
		b.proceed <- nil
	}
	if err := r.halt(t); err != nil {
		t.Errorf("Run = %v", err)
	}
	for _, id := range append(ids, waiting) {
		if job := jobNow(t, st, id); job.State != store.Completed {
			t.Errorf("job %d is %s", id, job.State)
		}
	}
	if job := jobNow(t, st, late); job.State != store.Available {
		t.Errorf("a job that came after the end is %s", job.State)
	}
	consistent(t, st)
}

func TestHandlersStillRunningAfterTheGraceTimeAreInterruptedAndGivenBack(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cfg := config(t)
	cfg.Grace = 50 * time.Millisecond
	p := New(st, cfg)
	started := make(chan struct{})
	Handle(p, "slow", handler(func(ctx context.Context, _ Job[json.RawMessage]) error {
		close(started)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrShutdown) {
			t.Errorf("cause = %v", context.Cause(ctx))
		}
		return ctx.Err()
	}))
	id := enqueueKind(t, st, "slow")
	r := run(t, p)
	receive(t, started)
	if err := r.halt(t); err != nil {
		t.Errorf("Run = %v", err)
	}
	if job := jobNow(t, st, id); job.State != store.Available || job.Attempts != 1 {
		t.Errorf("the job is %s with %d attempts used", job.State, job.Attempts)
	}
	expect(t, "transitions", only(transitions(t, st, id), store.TypeReleased, store.TypeFailed, store.TypeRejected), "released")
	consistent(t, st)
}

func TestAHandlerThatIgnoresTheEndIsLeftToExpireAndRunReturnsInTime(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cfg := config(t)
	cfg.Grace, cfg.Wind = 50*time.Millisecond, 100*time.Millisecond
	p := New(st, cfg)
	b := newBlocking()
	Handle(p, "deaf", b.handle)
	id := enqueueKind(t, st, "deaf")
	r := run(t, p)
	receive(t, b.started)
	if err := r.halt(t); !errors.Is(err, ErrUnfinished) {
		t.Errorf("Run = %v", err)
	}
	if job := jobNow(t, st, id); job.State != store.Running {
		t.Errorf("the job is %s although its handler still runs", job.State)
	}
	b.proceed <- nil
	storetest.Await(t, "the late handler's goroutine ended", func() bool { return p.Stats().Running == 0 })
}

// A claim that arrives while the pool is already stopping was never begun.
func TestClaimsThatWereNotBegunAreGivenBackUncharged(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "slow")
	ctx, stop := context.WithCancel(context.Background())
	p := newPool(&interposed{Store: st, claimed: stop}, config(t))
	p.store = st
	Handle(p, "slow", handler(func(context.Context, Job[json.RawMessage]) error {
		t.Error("the handler ran")
		return nil
	}))
	p.stopping.Store(true) // as it is a moment after ctx ended
	if err := p.Run(ctx); err != nil {
		t.Errorf("Run = %v", err)
	}
	if job := jobNow(t, st, id); job.State != store.Available || job.Attempts != 0 || job.Generation != 1 {
		t.Errorf("the job is %s in generation %d with %d attempts used", job.State, job.Generation, job.Attempts)
	}
	consistent(t, st)
}

// interposed is a store that can be interfered with.
type interposed struct {
	*store.Store
	claimed func()
}

func (i *interposed) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	got, err := i.Store.Claim(ctx, p)
	if len(got) > 0 {
		i.claimed()
	}
	return got, err
}

func TestSettingsThatCannotWorkAreReportedByName(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		`Queues["a"]: 0 slots`: {Queues: map[string]int{"a": 0}},
		"Queues: names no":     {Queues: map[string]int{}},
		"Lease: 1ms":           {Lease: time.Millisecond},
		"Grace: -1s":           {Grace: -time.Second},
		"Retry: base":          {Retry: store.Backoff{Base: time.Second, Cap: 1}},
	} {
		p := New(nil, cfg)
		HandleNoop(p, Options{Lease: time.Second})
		if err := p.Run(t.Context()); err == nil || !contains(err.Error(), want) {
			t.Errorf("Run = %v, want %q", err, want)
		}
	}
	if err := New(nil, Config{}).Run(t.Context()); err == nil || !contains(err.Error(), "no kind") {
		t.Errorf("Run without kinds = %v", err)
	}
}

func TestAKindIsHandledOnce(t *testing.T) {
	t.Parallel()
	p := New(nil, Config{})
	HandleNoop(p)
	for name, twice := range map[string]func(){
		"same kind":    func() { HandleNoop(p) },
		"no name":      func() { Handle(p, "", handler(nil)) },
		"short lease":  func() { Handle(p, "a", handler(nil), Options{Lease: time.Millisecond}) },
		"two options":  func() { Handle(p, "b", handler(nil), Options{}, Options{}) },
		"bad timeout":  func() { Handle(p, "c", handler(nil), Options{Timeout: -1}) },
		"bad backoff":  func() { Handle(p, "d", handler(nil), Options{Retry: store.Backoff{Base: 2, Cap: 1}}) },
		"name of 1025": func() { Handle(p, string(make([]byte, 1025)), handler(nil)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			twice()
		}()
	}
}
