package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
)

// operate is an operator: it looks at a list, picks a job, and requeues or
// terminates it as it was seen.
func (a *actor) operate(ctx context.Context) error {
	say(word{Word: wordUp})
	busy, done := a.until(ctx)
	defer done()
	states := []store.State{store.Running, store.Completed, store.Completed, store.Retryable, store.Available, store.Terminated}
	for n := 0; rest(busy, 30*time.Millisecond); n++ {
		page, err := call(busy, func(ctx context.Context) (store.Page, error) {
			return a.store.Jobs(ctx, store.Filter{State: states[a.rand.IntN(len(states))], Queue: queueWork, Limit: 20})
		})
		if err != nil || len(page.Jobs) == 0 {
			continue
		}
		job := page.Jobs[a.rand.IntN(len(page.Jobs))]
		action, act := store.ActionRequeue, a.store.Requeue
		if a.rand.IntN(5) == 0 {
			action, act = store.ActionTerminate, a.store.Terminate
		}
		p := store.OperatorParams{JobID: job.ID, Seen: job.Revision, Actor: a.Name, Reason: fmt.Sprintf("act %d", n)}
		if err := a.act(ctx, action, p, act); err != nil {
			return err
		}
	}
	return nil
}

// act insists on an answer. After a lost one the operator may be told that the
// job changed: by this very action, which then stands on the timeline under
// its words, or by another.
func (a *actor) act(ctx context.Context, action store.Action, p store.OperatorParams, do func(context.Context, store.OperatorParams) (store.Job, error)) error {
	_, sent, err := insist(ctx, isConflict, func(ctx context.Context) (store.Job, error) { return do(ctx, p) })
	if err == nil {
		say(word{Word: wordActed, Job: p.JobID, Revision: p.Seen, Text: string(action), Unsure: sent > 1})
		return nil
	}
	if ctx.Err() != nil || sent == 1 {
		return ctx.Err()
	}
	own, _, err := insist(ctx, isNotFound, func(ctx context.Context) (bool, error) { return a.acted(ctx, action, p) })
	if err != nil {
		return ctx.Err()
	}
	if own {
		say(word{Word: wordActed, Job: p.JobID, Revision: p.Seen, Text: string(action), Unsure: true})
	}
	return nil
}

// acted looks for the action on the job's timeline.
func (a *actor) acted(ctx context.Context, action store.Action, p store.OperatorParams) (bool, error) {
	all, err := a.store.Transitions(ctx, p.JobID, 0, 1000)
	for _, t := range all {
		done := action == store.ActionRequeue && t.Type == store.TypeRequeued || action == store.ActionTerminate && t.Type == store.TypeTerminated
		if done && t.Actor == p.Actor && t.Reason == p.Reason && t.Revision == p.Seen+1 {
			return true, nil
		}
	}
	return false, err
}

func isConflict(err error) bool {
	var conflict *store.ConflictError
	return errors.As(err, &conflict) || isNotFound(err)
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }
