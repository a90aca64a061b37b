package worker

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime/debug"
	"time"

	"github.com/fenceline/fenceline/store"
)

// work runs the handler on a goroutine of its own and offers what became of
// it. The outcome is offered in a deferred call, because a handler may end its
// goroutine (panic, runtime.Goexit) instead of returning.
func (a *attempt) work() {
	defer a.queue.finished()
	if !a.mayStart() {
		a.pool.completer.release(a, false)
		return
	}
	var result json.RawMessage
	var err error
	returned := false
	defer func() {
		if !returned {
			err = caught(recover(), debug.Stack())
		}
		a.finish(result, err)
	}()
	ctx := a.ctx
	if a.kind.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, a.kind.timeout, ErrTimeout)
		defer stop()
	}
	result, err = a.kind.run(attemptContext{ctx, a}, a)
	if err != nil && errors.Is(context.Cause(ctx), ErrTimeout) {
		err = &classError{"timeout", err}
	}
	returned = true
}

// mayStart is false for a claim that arrived too late to be begun.
func (a *attempt) mayStart() bool { return !a.pool.stopping.Load() && a.trusted(a.pool.now()) }

// finish offers the outcome, whatever has become of the lease: the store
// decides. An attempt that stopped because the pool shuts down gives its claim
// back.
func (a *attempt) finish(result json.RawMessage, err error) {
	cause := context.Cause(a.ctx)
	a.cancel(nil)
	if err == nil {
		a.pool.completer.complete(a, result)
		return
	}
	d := describe(err)
	if errors.Is(cause, ErrShutdown) && !d.permanent && !d.crashed {
		a.pool.completer.release(a, true)
		return
	}
	a.fail(d)
}

func (a *attempt) fail(d description) {
	_, output := a.kept()
	a.pool.completer.fail(a, store.Failure{
		Lease: a.claimed.Lease, Delay: after(d.delay, a.kind.retry.Delay(a.claimed.Attempts)),
		Permanent: d.permanent, Reason: d.reason, Error: d.AttemptError, Output: output,
	})
}

// after is two delays one behind the other.
func after(first, second time.Duration) time.Duration {
	return first + min(second, math.MaxInt64-first)
}

// failUnstorable offers a failure in place of a result that cannot be stored.
func (a *attempt) failUnstorable(err error) { a.fail(describe(Unstorable(err))) }
