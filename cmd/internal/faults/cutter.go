package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/proof/mutant"
	"github.com/fenceline/fenceline/store/relay"
)

// cutter makes commits whose answer is lost, of one verb after the other on a
// job of its own, and looks how each is resolved: by asking again, as a program
// would that knows nothing.
type cutter struct {
	rig   *Rig
	store *store.Store
	relay *relay.Relay

	mu     sync.Mutex
	cuts   map[string]int // by verb
	right  int
	wrongs []string
}

// cutLease is longer than the database's clock ever jumps: what is lost must be
// the answer to an accepted write.
const cutLease = 20 * time.Hour

func newCutter(ctx context.Context, r *Rig) (*cutter, error) {
	l, err := relay.New(r.dial(), r.rewrite)
	if err != nil {
		return nil, err
	}
	r.onClose(l.Close)
	st, err := r.through(ctx, l)
	if err != nil {
		return nil, err
	}
	r.onClose(st.Close)
	return &cutter{rig: r, store: st, relay: l, cuts: map[string]int{}}, nil
}

func (c *cutter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.cuts {
		n += k
	}
	return n
}

// run works jobs through their four lost answers until busy ends; what it has
// begun it resolves.
func (c *cutter) run(ctx, busy context.Context, name string) error {
	for n := 0; busy.Err() == nil; n++ {
		if err := c.life(ctx, fmt.Sprintf("%s-%d", name, n)); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		rest(busy, 20*time.Millisecond)
	}
	return nil
}

// lose arms the relay, makes the call, and notes whether its commit was
// answered by nothing. Resolve asks again.
func (c *cutter) lose(verb, fragment string, do func() error, resolve func() (string, error)) (bool, error) {
	cut := c.relay.CutAnswer(fragment)
	err := do()
	if !cut.Disarm() {
		return false, err
	}
	wrong, err := resolve()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts[verb]++
	if wrong == "" {
		c.right++
	} else if len(c.wrongs) < maxWrongs {
		c.wrongs = append(c.wrongs, verb+": "+wrong)
	}
	return true, nil
}

// life is one job's. Where a call failed for another reason than a lost answer
// the job is left to itself.
func (c *cutter) life(ctx context.Context, key string) error {
	if err := c.enqueue(ctx, key); err != nil {
		return err
	}
	// It may be an older job, which was left to itself.
	l, err := c.claim(ctx)
	if err != nil || l.JobID == 0 {
		return err
	}
	done, err := c.complete(ctx, l)
	if err != nil || !done {
		return err
	}
	return c.requeue(ctx, l.JobID, key)
}

func (c *cutter) enqueue(ctx context.Context, key string) error {
	r := store.Request{Kind: kindCut, Queue: queueCut, Key: key, MaxAttempts: budget}
	do := func(ctx context.Context) (store.Enqueued, error) { return c.store.Enqueue(ctx, r) }
	_, err := c.lose("enqueue", inEnqueue, func() error { call(ctx, do); return nil }, func() (string, error) {
		again, _, err := insist(ctx, isRefusal, do)
		if err != nil {
			return "answered with " + err.Error(), ctx.Err()
		}
		if !again.Existing {
			return "the repeat made another job", nil
		}
		return c.counted(ctx, again.ID, store.TypeEnqueued, 1)
	})
	if err != nil {
		return err
	}
	_, _, err = insist(ctx, isRefusal, do)
	return err
}

func (c *cutter) claim(ctx context.Context) (l store.Lease, err error) {
	p := store.ClaimParams{Worker: "cutter", Queue: queueCut, Kinds: []store.KindLease{{Kind: kindCut, Lease: cutLease}}, AttemptIDs: []uuid.UUID{uuid.New()}}
	var got []store.Claimed
	_, err = c.lose("claim", mutant.InClaim, func() error {
		got, _ = call(ctx, func(ctx context.Context) ([]store.Claimed, error) { return c.store.Claim(ctx, p) })
		return nil
	}, func() (string, error) {
		// Claim looks for itself; where even that got no answer the caller looks.
		var err error
		if len(got) == 0 {
			got, _, err = insist(ctx, isRefusal, func(ctx context.Context) ([]store.Claimed, error) { return c.store.ClaimedBy(ctx, p.AttemptIDs) })
		}
		if err != nil {
			return "", ctx.Err()
		}
		if len(got) != 1 || got[0].Lease.AttemptID != p.AttemptIDs[0] {
			return fmt.Sprintf("%d claims were found", len(got)), nil
		}
		return c.counted(ctx, got[0].Lease.JobID, store.TypeClaimed, int(got[0].Lease.Generation))
	})
	if err != nil || len(got) != 1 {
		return store.Lease{}, err
	}
	return got[0].Lease, nil
}

func (c *cutter) complete(ctx context.Context, l store.Lease) (bool, error) {
	batch := []store.Completion{{Lease: l, Result: json.RawMessage(`"cut"`),
		FollowUps: []store.FollowUp{{Name: "one", Request: store.Request{Kind: kindStep, MaxAttempts: budget}}}}}
	do := func(ctx context.Context) ([]store.Outcome, error) { return c.store.Complete(ctx, "cutter", batch) }
	_, err := c.lose("complete", mutant.InComplete, func() error { call(ctx, do); return nil }, func() (string, error) {
		again, _, err := insist(ctx, isRefusal, do)
		if err != nil {
			return "answered with " + err.Error(), ctx.Err()
		}
		if again[0].Err != nil || !again[0].Repeated {
			return fmt.Sprintf("the repeat was answered %+v", again[0]), nil
		}
		if wrong, err := c.counted(ctx, l.JobID, store.TypeRejected, 0); wrong != "" || err != nil {
			return wrong, err
		}
		return c.counted(ctx, l.JobID, store.TypeCompleted, 1)
	})
	if err != nil {
		return false, err
	}
	out, _, err := insist(ctx, isRefusal, do)
	return err == nil && out[0].Err == nil, ctx.Err()
}

// requeue is an operator's: after a lost answer it is refused, because the job
// changed, and what the job is now shows that it was done, once.
func (c *cutter) requeue(ctx context.Context, id int64, key string) error {
	job, _, err := insist(ctx, isNotFound, func(ctx context.Context) (store.Job, error) { return c.store.Job(ctx, id) })
	if err != nil {
		return err
	}
	p := store.OperatorParams{JobID: id, Seen: job.Revision, Actor: "cutter", Reason: "cut " + key}
	do := func(ctx context.Context) (store.Job, error) { return c.store.Requeue(ctx, p) }
	_, err = c.lose("requeue", mutant.InRequeue, func() error { call(ctx, do); return nil }, func() (string, error) {
		_, _, err := insist(ctx, isConflict, do)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return fmt.Sprintf("the repeat was answered %v", err), ctx.Err()
		}
		if conflict.Job.State != store.Available || conflict.Job.Revision != p.Seen+1 {
			return fmt.Sprintf("the repeat was shown a job that is %s at revision %d", conflict.Job.State, conflict.Job.Revision), nil
		}
		return c.counted(ctx, id, store.TypeRequeued, 1)
	})
	if err != nil {
		return err
	}
	return c.retire(ctx, id)
}

// retire takes the job out of the way of the next claim.
func (c *cutter) retire(ctx context.Context, id int64) error {
	for {
		job, _, err := insist(ctx, isNotFound, func(ctx context.Context) (store.Job, error) { return c.store.Job(ctx, id) })
		if err != nil || job.State.Terminal() {
			return err
		}
		call(ctx, func(ctx context.Context) (store.Job, error) {
			return c.store.Terminate(ctx, store.OperatorParams{JobID: id, Seen: job.Revision, Actor: "cutter", Reason: "retired"})
		})
	}
}

// retireAll takes every job that was left to itself out of the way.
func (c *cutter) retireAll(ctx context.Context) error {
	for _, state := range []store.State{store.Available, store.Running} {
		page, _, err := insist(ctx, isNotFound, func(ctx context.Context) (store.Page, error) {
			return c.store.Jobs(ctx, store.Filter{State: state, Queue: queueCut, Limit: store.MaxPage})
		})
		for _, j := range page.Jobs {
			err = errors.Join(err, c.retire(ctx, j.ID))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// counted says what is wrong when the job has another number of transitions of
// a type.
func (c *cutter) counted(ctx context.Context, id int64, of store.Type, want int) (string, error) {
	all, _, err := insist(ctx, isNotFound, func(ctx context.Context) ([]store.Transition, error) { return c.store.Transitions(ctx, id, 0, 1000) })
	if err != nil {
		return "", err
	}
	n := 0
	for _, t := range all {
		if t.Type == of {
			n++
		}
	}
	if n != want {
		return fmt.Sprintf("job %d has %d transitions %s, want %d", id, n, of, want), nil
	}
	return "", nil
}
