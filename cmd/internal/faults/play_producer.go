package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
)

// produce is a producer process: it enqueues under keys of its own, and insists
// on each until it is acknowledged.
func (a *actor) produce(ctx context.Context) error {
	say(word{Word: wordUp})
	busy, done := a.until(ctx)
	defer done()
	for n := 0; busy.Err() == nil; {
		size := 1
		if a.rand.IntN(4) == 0 {
			size = 1 + a.rand.IntN(12)
		}
		requests := make([]store.Request, size)
		for i := range requests {
			requests[i] = a.request(n)
			n++
		}
		if err := a.enqueue(ctx, requests); err != nil {
			return err
		}
		rest(busy, a.Pace*time.Duration(size))
		if n%64 < size {
			a.awaitRoom(busy)
		}
	}
	return nil
}

func (a *actor) request(n int) store.Request {
	kind := kindStep
	switch p := a.rand.IntN(100); {
	case p < 20:
		kind = kindParent
	case p < 30:
		kind = kindFlaky
	case p < 38:
		kind = kindLong
	}
	return store.Request{Kind: kind, Key: fmt.Sprintf("%s-%d", a.Name, n), MaxAttempts: budget}
}

func (a *actor) enqueue(ctx context.Context, requests []store.Request) error {
	all, sent, err := insist(ctx, isRefusal, func(ctx context.Context) ([]store.Enqueued, error) {
		if len(requests) == 1 {
			one, err := a.store.Enqueue(ctx, requests[0])
			return []store.Enqueued{one}, err
		}
		return a.store.EnqueueMany(ctx, requests)
	})
	if err != nil {
		if ctx.Err() == nil {
			say(word{Word: wordWrong, Key: requests[0].Key, Text: "enqueue refused: " + err.Error()})
		}
		return ctx.Err()
	}
	for i, e := range all {
		if e.Existing && sent == 1 {
			say(word{Word: wordWrong, Job: e.ID, Key: requests[i].Key, Text: "a fresh key was said to exist"})
		}
		say(word{Word: wordEnqueued, Job: e.ID, Key: requests[i].Key, Unsure: sent > 1})
	}
	return nil
}

// isRefusal reports whether the store itself said no.
func isRefusal(err error) bool {
	var conflict *store.KeyConflictError
	var invalid *store.InvalidError
	return errors.As(err, &conflict) || errors.As(err, &invalid)
}

const fullAt = 300 // available jobs

// awaitRoom keeps the backlog short, so that what is enqueued is also worked.
func (a *actor) awaitRoom(ctx context.Context) {
	for ctx.Err() == nil {
		page, err := call(ctx, func(ctx context.Context) (store.Page, error) {
			return a.store.Jobs(ctx, store.Filter{State: store.Available, Limit: fullAt})
		})
		if err != nil || len(page.Jobs) < fullAt {
			return
		}
		rest(ctx, 100*time.Millisecond)
	}
}
