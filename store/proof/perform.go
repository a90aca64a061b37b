package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// subject is the job of one history, on its stage.
type subject struct {
	*Stage
	names
	key string
	id  int64 // once it is enqueued
}

const (
	longLease = time.Hour
	// muchLater is longer than any history lasts, also as the bound of a wait
	// that is drawn evenly below it.
	muchLater = 200 * 365 * 24 * time.Hour
)

// perform asks the real store and translates what it answers.
func (s *subject) perform(ctx context.Context, c Call, wait time.Duration) Answer {
	switch c.Verb {
	case ClaimJob:
		return s.claim(ctx, c)
	case Find:
		claimed, err := s.store.ClaimedBy(ctx, []uuid.UUID{s.names.id(c.By.Attempt)})
		return s.claimed(claimed, err)
	case Renew, Complete, Fail, Release:
		return s.offer(ctx, c)
	case Expire:
		n, err := s.store.Expire(ctx, 1, store.Backoff{Base: muchLater, Cap: muchLater})
		return counted(n, err)
	case Promote:
		n, err := s.store.Promote(ctx, 1)
		return counted(n, err)
	case Requeue, Terminate, Correct, Amend, Erase, Note:
		return s.operate(ctx, c)
	case Read:
		j, err := s.store.Job(ctx, s.id)
		if err != nil {
			return failed(ctx, err)
		}
		return Answer{Row: s.row(j)}
	case Look:
		return s.look(ctx)
	case Lapse:
		return s.lapse(ctx)
	case ComeDue:
		return s.comeDue(ctx)
	}
	return s.hold(ctx, c, wait)
}

// failed is an error that no call should meet, unless the caller gave up.
func failed(ctx context.Context, err error) Answer {
	if ctx.Err() != nil {
		return Answer{Lost: true}
	}
	return Answer{Err: err.Error()}
}

func counted(n int, err error) Answer {
	switch {
	case err != nil:
		return Answer{Err: err.Error()}
	case n > 1:
		return Answer{Err: fmt.Sprintf("%d rows, where one was asked for", n)}
	case n == 1:
		return Answer{Verdict: Accepted}
	}
	return Answer{}
}

// enqueue tells the job's id beside the answer.
func (s *subject) enqueue(ctx context.Context, c Call) (int64, Answer) {
	r := store.Request{Kind: kind, Queue: queue, Key: s.key, MaxAttempts: c.Budget}
	if c.Later {
		r.RunAt = time.Now().Add(muchLater / 2)
	}
	if c.Other {
		r.Args = json.RawMessage(`{"another": "request"}`)
	}
	out, err := s.store.Enqueue(ctx, r)
	var conflict *store.KeyConflictError
	switch {
	case errors.As(err, &conflict):
		return conflict.JobID, Answer{Verdict: Conflict}
	case err != nil:
		return 0, failed(ctx, err)
	case out.Existing:
		return out.ID, Answer{Verdict: Repeated}
	}
	return out.ID, Answer{Verdict: Accepted}
}

func (c Call) duration() time.Duration {
	if c.Short {
		return shortLease
	}
	return longLease
}

func (s *subject) claim(ctx context.Context, c Call) Answer {
	claimed, err := s.store.Claim(ctx, store.ClaimParams{
		Worker: c.Worker, Queue: queue, Kinds: []store.KindLease{{Kind: kind, Lease: c.duration()}},
		AttemptIDs: []uuid.UUID{s.names.id(c.By.Attempt)},
	})
	if err != nil {
		return failed(ctx, err)
	}
	return s.claimed(claimed, nil)
}

func (s *subject) claimed(claimed []store.Claimed, err error) Answer {
	switch {
	case err != nil:
		return Answer{Err: err.Error()}
	case len(claimed) == 0:
		return Answer{}
	case len(claimed) > 1 || claimed[0].Lease.JobID != s.id:
		return Answer{Err: fmt.Sprintf("claimed %d jobs, the first is %d: want job %d alone", len(claimed), claimed[0].Lease.JobID, s.id)}
	}
	c := claimed[0]
	return Answer{Verdict: Accepted, Generation: c.Lease.Generation, Used: c.Attempts, Budget: c.MaxAttempts}
}

var followUps = []store.FollowUp{
	{Name: "first", Request: store.Request{Kind: "follow-up", Queue: "follow-ups"}},
	{Name: "second", Request: store.Request{Kind: "follow-up", Queue: "follow-ups"}},
}

func (s *subject) offer(ctx context.Context, c Call) Answer {
	lease := store.Lease{JobID: s.id, AttemptID: s.names.id(c.By.Attempt), Generation: c.By.Generation}
	var out []store.Outcome
	var err error
	switch c.Verb {
	case Renew:
		out, err = s.store.Renew(ctx, c.Worker, []store.Renewal{{Lease: lease, For: c.duration()}})
	case Complete:
		result, _ := json.Marshal(c.Result)
		out, err = s.store.Complete(ctx, c.Worker, []store.Completion{{Lease: lease, Result: result, FollowUps: followUps[:c.FollowUps]}})
	case Fail:
		f := store.Failure{Lease: lease, Permanent: c.Permanent, Error: store.AttemptError{Class: "timeout", Message: "no answer"}}
		if c.Later {
			f.Delay = muchLater
		}
		out, err = s.store.Fail(ctx, c.Worker, []store.Failure{f})
	case Release:
		out, err = s.store.Release(ctx, c.Worker, []store.Released{{Lease: lease, Started: c.Started}})
	}
	if err != nil {
		return failed(ctx, err)
	}
	return offered(out[0])
}

func offered(out store.Outcome) Answer {
	var stale *store.StaleError
	switch {
	case errors.As(out.Err, &stale):
		return Answer{Verdict: Verdict(stale.Reason), Generation: stale.Current}
	case out.Err != nil:
		return Answer{Err: out.Err.Error()}
	case out.Repeated:
		return Answer{Verdict: Repeated, State: out.State}
	}
	return Answer{Verdict: Accepted, State: out.State, Linked: out.Linked}
}

func (s *subject) operate(ctx context.Context, c Call) Answer {
	p := store.OperatorParams{JobID: s.id, Seen: c.Seen, Actor: "oncall", Reason: "because"}
	other := store.NewArgs{Args: fmt.Appendf(nil, `{"since": %d}`, c.Seen)}
	var j store.Job
	var err error
	switch c.Verb {
	case Requeue:
		j, err = s.store.Requeue(ctx, p)
	case Terminate:
		j, err = s.store.Terminate(ctx, p)
	case Correct:
		j, err = s.store.RequeueWith(ctx, p, other)
	case Amend:
		change := store.Change{MaxAttempts: c.Budget}
		if c.Args {
			change.NewArgs = other
		}
		j, err = s.store.Amend(ctx, p, change)
	case Erase:
		j, err = s.store.Erase(ctx, p)
	case Note:
		j, err = s.store.Note(ctx, p)
	}
	var conflict *store.ConflictError
	var invalid *store.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Field == "max_attempts":
		return Answer{Verdict: Impossible}
	case errors.As(err, &conflict):
		return Answer{Verdict: Verdict(conflict.Why), Row: s.row(conflict.Job)}
	case err != nil:
		return failed(ctx, err)
	}
	return Answer{Verdict: Accepted, Row: s.row(j)}
}

// row is the job's row in the model's words.
func (n names) row(j store.Job) Row {
	return Row{
		State: j.State, Revision: j.Revision, Generation: j.Generation, Used: j.Attempts, Budget: j.MaxAttempts,
		Attempt: n.number(j.AttemptID), End: j.AttemptEnd,
		ResultBy: Fence{n.number(j.ResultAttemptID), j.ResultGeneration},
		Args:     j.ArgsVersion, Erased: !j.ErasedAt.IsZero(),
	}
}
