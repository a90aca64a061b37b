package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

const (
	lived = 40 // jobs that the store works itself, and whose histories are copied
	lease = time.Minute
)

// sorts are the lives of those jobs. Of 40, 30 complete with two renewals.
var sorts = []struct {
	n    int
	live func(*life) error
}{
	{30, func(l *life) error { return l.first(l.claim(lease), l.renew(), l.renew(), l.complete()) }},
	{4, func(l *life) error {
		return l.first(l.claim(lease), l.fail(), l.promote(), l.claim(lease), l.complete())
	}},
	{2, func(l *life) error {
		return l.first(l.claim(time.Microsecond), l.expire(), l.claim(lease), l.late(), l.complete())
	}},
	{2, func(l *life) error { return l.first(l.claim(lease), l.discard()) }},
	{1, func(l *life) error { return l.first(l.claim(lease), l.terminate()) }},
	{1, func(l *life) error { return nil }},
}

// live works one job of each sort as often as it says.
func live(ctx context.Context, st *store.Store) error {
	i := 0
	for _, s := range sorts {
		for range s.n {
			request := store.Request{Kind: fmt.Sprintf("kind-%d", i%12), Queue: fmt.Sprintf("queue-%d", i%5), Key: fmt.Sprintf("order-%d", i),
				Args: json.RawMessage(`{"customer_id": 1}`), Tags: [][]string{nil, {"urgent"}}[min(1, i%20/19)], MaxAttempts: 3, Actor: "scale"}
			if _, err := liveOne(ctx, st, request, s.live); err != nil {
				return fmt.Errorf("life %d: %w", i, err)
			}
			i++
		}
	}
	if i != lived {
		return fmt.Errorf("%d jobs lived, %d are copied", i, lived)
	}
	return nil
}

// renewals is one job with a long history.
func renewals(ctx context.Context, st *store.Store, n int) (int64, error) {
	return liveOne(ctx, st, store.Request{Kind: "long", Queue: "long", Actor: "scale"}, func(l *life) error {
		return l.first(append(append([]step{l.claim(lease)}, slices.Repeat([]step{l.renew()}, n)...), l.complete())...)
	})
}

// liveOne enqueues a job and lets it live. It returns its id.
func liveOne(ctx context.Context, st *store.Store, r store.Request, how func(*life) error) (int64, error) {
	e, err := st.Enqueue(ctx, r)
	if err != nil {
		return 0, err
	}
	l := &life{Store: st, ctx: ctx, worker: fmt.Sprintf("host-%d/1", e.ID%8)}
	if l.job, err = st.Job(ctx, e.ID); err != nil {
		return 0, err
	}
	return e.ID, how(l)
}

// life is one job with its attempts, of which the last holds the lease.
type life struct {
	*store.Store
	ctx      context.Context
	worker   string
	job      store.Job
	attempts []store.Lease
}

type step func() error

// first does one step after the other.
func (l *life) first(steps ...step) error {
	for _, do := range steps {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (l *life) lease() store.Lease { return l.attempts[len(l.attempts)-1] }

func (l *life) claim(lease time.Duration) step {
	return func() error {
		got, err := l.Claim(l.ctx, store.ClaimParams{Worker: l.worker, Queue: l.job.Queue, Kinds: []store.KindLease{{Kind: l.job.Kind, Lease: lease}},
			AttemptIDs: []uuid.UUID{uuid.Must(uuid.NewV7())}})
		if err != nil {
			return err
		}
		if len(got) != 1 || got[0].Lease.JobID != l.job.ID {
			return fmt.Errorf("claimed %v, not job %d", got, l.job.ID)
		}
		l.attempts = append(l.attempts, got[0].Lease)
		return nil
	}
}

func (l *life) renew() step {
	return func() error {
		return accepted(l.Renew(l.ctx, l.worker, []store.Renewal{{Lease: l.lease(), For: lease}}))
	}
}

func (l *life) complete() step {
	return func() error {
		return accepted(l.Complete(l.ctx, l.worker, []store.Completion{{Lease: l.lease(), Result: json.RawMessage(`{"sent": 1}`)}}))
	}
}

// late offers the result of the attempt before, which is refused.
func (l *life) late() step {
	return func() error {
		out, err := l.Complete(l.ctx, l.worker, []store.Completion{{Lease: l.attempts[0], Result: json.RawMessage(`{"sent": 2}`)}})
		if err == nil && out[0].Err == nil {
			err = errors.New("a late result was accepted")
		}
		return err
	}
}

func (l *life) fail() step {
	return func() error {
		return accepted(l.Fail(l.ctx, l.worker, []store.Failure{{Lease: l.lease(), Delay: time.Millisecond, Error: timedOut}}))
	}
}

func (l *life) discard() step {
	return func() error {
		return accepted(l.Fail(l.ctx, l.worker, []store.Failure{{Lease: l.lease(), Permanent: true, Reason: store.ReasonPermanent, Error: timedOut}}))
	}
}

var timedOut = store.AttemptError{Class: "Timeout", Message: "the other side did not answer within 30 s"}

func (l *life) terminate() step {
	return func() error {
		seen, err := l.Job(l.ctx, l.job.ID)
		if err != nil {
			return err
		}
		_, err = l.Terminate(l.ctx, store.OperatorParams{JobID: seen.ID, Seen: seen.Revision, Actor: "scale", Reason: "not wanted any more"})
		return err
	}
}

func (l *life) expire() step {
	return l.until(func() (int, error) { return l.Expire(l.ctx, 1, store.DefaultBackoff) })
}

func (l *life) promote() step {
	return l.until(func() (int, error) { return l.Promote(l.ctx, 1) })
}

// until tries until something was there to do.
func (l *life) until(do func() (int, error)) step {
	return func() error {
		for {
			n, err := do()
			if n > 0 || err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func accepted(out []store.Outcome, err error) error {
	if err != nil {
		return err
	}
	return out[0].Err
}
