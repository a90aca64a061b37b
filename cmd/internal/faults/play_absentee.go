package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

const (
	absentBatch = 40
	absentLease = 250 * time.Millisecond
)

// absent is a worker without discipline: it claims jobs, lets their leases go
// by, and then writes as if nothing had happened. Workers take the jobs over in
// the meantime, or an operator takes them away. Each such write must be refused.
func (a *actor) absent(ctx context.Context) error {
	say(word{Word: wordUp})
	busy, done := a.until(ctx)
	defer done()
	for n := 0; busy.Err() == nil; n++ {
		if err := a.miss(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *actor) miss(ctx context.Context, n int) error {
	requests := make([]store.Request, absentBatch)
	for i := range requests {
		requests[i] = store.Request{Kind: kindAbsent, Queue: queueAbsent, Key: fmt.Sprintf("%s-%d-%d", a.Name, n, i), MaxAttempts: budget}
	}
	if err := a.enqueue(ctx, requests); err != nil {
		return err
	}
	claimed, err := call(ctx, func(ctx context.Context) ([]store.Claimed, error) {
		attempts := make([]uuid.UUID, absentBatch)
		for i := range attempts {
			attempts[i] = uuid.New()
		}
		return a.store.Claim(ctx, store.ClaimParams{Worker: a.Name, Queue: queueAbsent,
			Kinds: []store.KindLease{{Kind: kindAbsent, Lease: absentLease}}, AttemptIDs: attempts})
	})
	if err != nil {
		return nil // whatever was claimed expires
	}
	for i, c := range claimed {
		if err := a.lose(ctx, c.Lease, i); err != nil {
			return err
		}
	}
	for _, c := range claimed {
		if err := a.offerLate(ctx, c.Lease); err != nil {
			return err
		}
	}
	return nil
}

// lose waits until the lease is over: because it ended, because another attempt
// has the job, or because an operator took it away.
func (a *actor) lose(ctx context.Context, l store.Lease, i int) error {
	if i%8 == 0 {
		return a.takeAway(ctx, l, i%16 == 0)
	}
	taken := i%3 == 0
	for {
		job, _, err := insist(ctx, isNotFound, func(ctx context.Context) (store.Job, error) { return a.store.Job(ctx, l.JobID) })
		if err != nil {
			return ctx.Err()
		}
		now, _, err := insist(ctx, isNotFound, a.store.Clock)
		if err != nil {
			return ctx.Err()
		}
		over := !now.Before(job.LeaseUntil) || job.State != store.Running
		if job.Generation > l.Generation || job.State.Terminal() || over && !taken {
			return nil
		}
		if !rest(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// takeAway lets an operator requeue or terminate the job, and the lease end in
// any case.
func (a *actor) takeAway(ctx context.Context, l store.Lease, requeue bool) error {
	job, err := call(ctx, func(ctx context.Context) (store.Job, error) { return a.store.Job(ctx, l.JobID) })
	if err == nil && job.Generation == l.Generation && job.State == store.Running {
		p := store.OperatorParams{JobID: l.JobID, Seen: job.Revision, Actor: a.Name, Reason: "taken away"}
		action, do := store.ActionTerminate, a.store.Terminate
		if requeue {
			action, do = store.ActionRequeue, a.store.Requeue
		}
		if err := a.act(ctx, action, p, do); err != nil {
			return err
		}
	}
	return a.lose(ctx, l, 1)
}

// offerLate offers two different writes of an attempt that is over.
func (a *actor) offerLate(ctx context.Context, l store.Lease) error {
	ops := []store.Op{store.OpRenew, store.OpComplete, store.OpFail, store.OpRelease}
	a.rand.Shuffle(len(ops), func(i, k int) { ops[i], ops[k] = ops[k], ops[i] })
	for _, op := range ops[:2] {
		out, sent, err := insist(ctx, isRefusal, func(ctx context.Context) (store.Outcome, error) { return a.offer(ctx, op, l) })
		if err != nil {
			return ctx.Err()
		}
		say(word{Word: wordStale, Job: l.JobID, Attempt: l.AttemptID, Op: op, Offers: sent, Refused: errors.Is(out.Err, store.ErrStale), Text: reason(out)})
	}
	return nil
}

func reason(out store.Outcome) string {
	var stale *store.StaleError
	switch {
	case errors.As(out.Err, &stale):
		return string(stale.Reason)
	case out.Err != nil:
		return out.Err.Error()
	case out.Repeated:
		return "answered as a repeat"
	}
	return "accepted"
}

func (a *actor) offer(ctx context.Context, op store.Op, l store.Lease) (store.Outcome, error) {
	var all []store.Outcome
	var err error
	switch op {
	case store.OpRenew:
		all, err = a.store.Renew(ctx, a.Name, []store.Renewal{{Lease: l, For: 2 * absentLease}})
	case store.OpComplete:
		all, err = a.store.Complete(ctx, a.Name, []store.Completion{{Lease: l, Result: json.RawMessage(`"late"`),
			FollowUps: []store.FollowUp{{Name: "late", Request: store.Request{Kind: kindStep, MaxAttempts: budget}}}}})
	case store.OpFail:
		all, err = a.store.Fail(ctx, a.Name, []store.Failure{{Lease: l, Delay: time.Millisecond, Error: store.AttemptError{Class: "late", Message: "late"}}})
	case store.OpRelease:
		all, err = a.store.Release(ctx, a.Name, []store.Released{{Lease: l, Started: true}})
	}
	if err != nil {
		return store.Outcome{}, err
	}
	return all[0], nil
}
