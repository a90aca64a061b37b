package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

// Orders to workers.
const (
	orderSkew = "skew " // and a duration: the clock is wrong by so much from now on
	orderHog  = "hog"   // use every connection up that is not for renewals
)

// The kinds of a rig's jobs.
const (
	kindStep   = "step"   // short
	kindParent = "parent" // has two follow-ups
	kindFlaky  = "flaky"  // fails now and then
	kindLong   = "long"   // runs for about a lease
	kindAbsent = "absent" // is claimed first by an absentee
	kindCut    = "cut"
)

// followUps are written with the result of each parent.
var followUps = []string{"first", "second"}

// result is what a handler offers.
type result struct {
	Worker     string `json:"worker"`
	Generation int64  `json:"generation"`
}

// work is a worker process: a pool as any program has it. Its handlers act
// outside the database, and return what they have however long it took.
func (a *actor) work(ctx context.Context) error {
	var skew atomic.Int64
	pool := worker.New(a.store, worker.Config{
		Name: a.Name, Queues: map[string]int{queueWork: 6, queueAbsent: 1}, Lease: a.Lease,
		Poll: 200 * time.Millisecond, Sweep: 200 * time.Millisecond, Grace: 2 * time.Second, Wind: time.Second,
		Retry: store.Backoff{Base: 20 * time.Millisecond, Cap: 200 * time.Millisecond},
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Clock: func() time.Time {
			if d := skew.Load(); d != 0 {
				// Without the monotonic part: as a clock that was set.
				return time.Now().Round(0).Add(time.Duration(d))
			}
			return time.Now()
		},
	})
	for kind, handle := range map[string]func(context.Context, worker.Job[json.RawMessage]) error{
		kindStep: func(context.Context, worker.Job[json.RawMessage]) error {
			time.Sleep(rand.N(20 * time.Millisecond))
			return nil
		},
		kindAbsent: func(context.Context, worker.Job[json.RawMessage]) error {
			time.Sleep(rand.N(200 * time.Millisecond))
			return nil
		},
		kindLong: func(context.Context, worker.Job[json.RawMessage]) error {
			time.Sleep(a.Lease/2 + rand.N(a.Lease))
			return nil
		},
		kindFlaky:  flaky,
		kindParent: parent,
	} {
		worker.Handle(pool, kind, func(ctx context.Context, job worker.Job[json.RawMessage]) (result, error) {
			say(word{Word: wordEffect, Job: job.ID})
			return result{pool.ID(), job.Attempt.Generation}, handle(ctx, job)
		})
	}
	go func() {
		for order := range a.orders {
			a.obey(ctx, order, &skew)
		}
	}()
	say(word{Word: wordUp, Text: pool.ID()})
	if err := pool.Run(ctx); err != nil && !errors.Is(err, worker.ErrUnfinished) {
		return err
	}
	return nil
}

func (a *actor) obey(ctx context.Context, order string, skew *atomic.Int64) {
	switch {
	case strings.HasPrefix(order, orderSkew):
		if d, err := time.ParseDuration(order[len(orderSkew):]); err == nil {
			skew.Store(int64(d))
		}
	case order == orderHog:
		for range 8 {
			go func() {
				ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
				defer cancel()
				a.store.Failures(ctx, 1)
			}()
		}
	}
}

func flaky(context.Context, worker.Job[json.RawMessage]) error {
	if rand.N(10) < 3 {
		return errors.New("not this time")
	}
	return nil
}

func parent(_ context.Context, job worker.Job[json.RawMessage]) error {
	time.Sleep(rand.N(50 * time.Millisecond))
	for _, name := range followUps {
		err := job.FollowUp(name, kindStep, nil, func(r *store.Request) { r.MaxAttempts = budget })
		if err != nil {
			return fmt.Errorf("ask for a follow-up: %w", err)
		}
	}
	return nil
}
