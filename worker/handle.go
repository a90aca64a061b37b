package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Options are a kind's own rules. A zero field means the pool's default.
type Options struct {
	// Lease is the length of the leases of this kind, between 100 ms and 24 h.
	// It bounds how long a crash goes unnoticed, not how long a handler may run:
	// a running attempt is renewed at a third of it.
	Lease time.Duration
	// Retry is the backoff between attempts of this kind.
	Retry store.Backoff
	// Timeout bounds one attempt; 0 means no bound. Then the context is cancelled
	// with [ErrTimeout] and the lease is renewed no more, so that a handler which
	// ignores its context loses the job.
	Timeout time.Duration
}

// kind is a registered handler with its rules.
type kind struct {
	name    string
	lease   time.Duration
	retry   store.Backoff
	timeout time.Duration
	run     func(context.Context, *attempt) (json.RawMessage, error)
}

// Handle makes the pool claim jobs of a kind and run them with fn. Args are
// decoded from JSON; args that do not fit are a permanent failure, since no
// retry can cure them. The result is encoded as JSON and stored when the store
// accepts it; a result that cannot be stored is a permanent failure named
// result_unstorable. At most one Options may be given. Handle panics when the
// kind is already handled, when an option is out of its bounds, and when the
// pool already runs: these are errors of the program, not of its input.
func Handle[Args, Result any](p *Pool, name string, fn func(context.Context, Job[Args]) (Result, error), options ...Options) {
	p.register(name, options, func(ctx context.Context, a *attempt) (json.RawMessage, error) {
		args, err := decode[Args](a.claimed.Args)
		if err != nil {
			return nil, &classError{"args", Permanent(fmt.Errorf("decode args: %w", err))}
		}
		result, err := fn(ctx, jobOf(a, args))
		if err != nil {
			return nil, err
		}
		raw, err := marshal(result)
		if err != nil {
			return nil, Unstorable(err)
		}
		return raw, nil
	})
}

func jobOf[Args any](a *attempt, args Args) Job[Args] {
	c := &a.claimed
	return Job[Args]{
		ID: c.Lease.JobID, Kind: c.Kind, Queue: c.Queue, Key: c.Key, Tags: c.Tags, Args: args, CreatedAt: c.CreatedAt,
		Attempt: &Attempt{ID: c.Lease.AttemptID, Generation: c.Lease.Generation, Number: c.Attempts, Max: c.MaxAttempts, held: a},
	}
}

// KindNoop is the name of the kind that [HandleNoop] registers.
const KindNoop = "noop"

// HandleNoop registers the built-in kind noop, which does nothing and results in
// null. It measures what the rest costs.
func HandleNoop(p *Pool, options ...Options) {
	null := json.RawMessage("null")
	p.register(KindNoop, options, func(context.Context, *attempt) (json.RawMessage, error) { return null, nil })
}

func (p *Pool) register(name string, options []Options, run func(context.Context, *attempt) (json.RawMessage, error)) {
	var o Options
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		panic(fmt.Sprintf("worker: kind %q: more than one Options", name))
	}
	if err := o.check(name); err != nil {
		panic(fmt.Sprintf("worker: kind %q: %s", name, err))
	}
	k := &kind{name: name, lease: o.Lease, retry: o.Retry, timeout: o.Timeout, run: run}
	if k.lease == 0 {
		k.lease = p.cfg.Lease
	}
	if k.retry == (store.Backoff{}) {
		k.retry = p.cfg.Retry
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		panic(fmt.Sprintf("worker: kind %q: the pool already runs", name))
	}
	if p.kinds[name] != nil {
		panic(fmt.Sprintf("worker: kind %q is already handled", name))
	}
	p.kinds[name] = k
}

func (o Options) check(name string) error {
	switch {
	case name == "" || len(name) > store.MaxKind:
		return fmt.Errorf("the name must have 1 to %d bytes", store.MaxKind)
	case o.Timeout < 0:
		return fmt.Errorf("Timeout: %s is negative", o.Timeout)
	case o.Lease != 0 && checkLease("Lease", o.Lease) != nil:
		return checkLease("Lease", o.Lease)
	case o.Retry != (store.Backoff{}):
		return checkBackoff("Retry", o.Retry)
	}
	return nil
}
