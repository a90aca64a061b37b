package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Who is writing for an attempt at the moment. A renewal that met its own
// attempt's completion in the database would be refused and stand on the
// timeline as a stale write, so only one of them is ever under way.
const (
	idle int32 = iota
	renewing
	offering
)

const never = time.Duration(1<<63 - 1)

// attempt is a claim that this process made and whose outcome the store has not
// settled yet.
type attempt struct {
	pool    *Pool
	queue   *queue
	kind    *kind
	claimed store.Claimed
	began   time.Duration // the pool's clock before the claim
	ctx     context.Context
	cancel  context.CancelCauseFunc
	traced  func(Ending, string) // ends the attempt's span

	trust  atomic.Int64  // the pool's clock until which the lease is believed in
	bound  time.Duration // the pool's clock from which nothing is renewed, or never
	writer atomic.Int32

	// Of the keeper, under its lock.
	place   int
	renewAt time.Duration
	lost    bool

	mu        sync.Mutex
	followUps []store.FollowUp
	output    string
}

// newAttempt takes a claim over. Start is when the call began that made it.
func newAttempt(q *queue, k *kind, c store.Claimed, start time.Duration) *attempt {
	a := &attempt{pool: q.pool, queue: q, kind: k, claimed: c, began: start, bound: never, place: -1}
	if k.timeout > 0 {
		a.bound = q.pool.now() + k.timeout
	}
	values, traced := q.pool.cfg.Tracer.Begin(q.pool.values, &a.claimed)
	a.traced = traced
	a.ctx, a.cancel = context.WithCancelCause(values)
	a.extend(start)
	return a
}

// margin is how much sooner than the lease trust ends.
func margin(lease time.Duration) time.Duration { return min(lease/10, 2*time.Second) }

// extend believes in the lease as granted by a call that began at start. Due
// times lie on a grid, so that attempts which began apart are renewed together.
func (a *attempt) extend(start time.Duration) {
	a.trust.Store(int64(start + a.kind.lease - margin(a.kind.lease)))
	a.renewAt = (start + a.kind.lease/3).Truncate(max(a.kind.lease/16, time.Millisecond))
}

// trusted reports whether the lease is still believed in.
func (a *attempt) trusted(now time.Duration) bool { return int64(now) < a.trust.Load() }

// check is the handler's question, answered from the clock and not from what
// the keeper had time to do: a process that was stopped wakes up here.
func (a *attempt) check() error {
	if !a.trusted(a.pool.now()) {
		a.cancel(ErrLeaseLost)
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return nil
}

// begin reserves the attempt for one write of the completer.
func (a *attempt) begin() bool { return a.writer.CompareAndSwap(idle, offering) }

// follow adds a follow-up to what is offered with the result.
func (a *attempt) follow(f store.FollowUp) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.followUps {
		if other.Name == f.Name {
			return &store.InvalidError{Field: "name", Message: errTwice.Error()}
		}
	}
	if f.Trace == "" {
		f.Trace = a.pool.cfg.Tracer.Traceparent(a.ctx)
	}
	a.followUps = append(a.followUps, f)
	return nil
}

func (a *attempt) keepOutput(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.output = text
}

// kept is what the handler left beside its result.
func (a *attempt) kept() ([]store.FollowUp, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.followUps, a.output
}

func (a *attempt) log() *slog.Logger {
	l := a.claimed.Lease
	return a.pool.cfg.Log.With("job", l.JobID, "attempt", l.AttemptID, "generation", l.Generation, "kind", a.kind.name)
}

// attemptContext is what a handler gets: it tells from the clock that trust has
// ended, even before the keeper had a chance to cancel it.
type attemptContext struct {
	context.Context
	held *attempt
}

func (c attemptContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if c.held.check() != nil {
		return context.Canceled
	}
	return nil
}
