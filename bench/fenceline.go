package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

var silent = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))

func fenceline(settings string, slots int, limit time.Duration) *contestant {
	return &contestant{
		name: "Fenceline", settings: settings, limit: limit, keeps: true,
		schema: store.Migrate,
		bulk: func(ctx context.Context, url string, n int) (w worked, err error) {
			err = withStore(ctx, url, func(st *store.Store) error {
				requests := make([]store.Request, bulkSize)
				for i := range requests {
					requests[i] = store.Request{Kind: noopKind}
				}
				w, err = inBulk(n, func(n int) error {
					_, err := st.EnqueueMany(ctx, requests[:n])
					return err
				})
				return err
			})
			return w, err
		},
		single: func(ctx context.Context, url string, clients, n int) (w worked, err error) {
			err = withStore(ctx, url, func(st *store.Store) error {
				w, err = fromClients(clients, n, func() error {
					_, err := st.Enqueue(ctx, store.Request{Kind: noopKind})
					return err
				})
				return err
			})
			return w, err
		},
		drain: func(ctx context.Context, url string, n int, limit time.Duration) (w worked, err error) {
			err = withStore(ctx, url, func(st *store.Store) error {
				pool := worker.New(st, fencelineConfig(slots))
				worker.HandleNoop(pool)
				w, err = fencelineDrain(ctx, pool, n, limit)
				return err
			})
			return w, err
		},
		latency: fencelineLatency,
	}
}

// fencelineConfig is the pool's own defaults, but for the slots: 0 leaves them.
func fencelineConfig(slots int) worker.Config {
	cfg := worker.Config{Log: silent}
	if slots > 0 {
		cfg.Queues = map[string]int{store.DefaultQueue: slots}
	}
	return cfg
}

func withStore(ctx context.Context, url string, do func(*store.Store) error) error {
	st, err := store.Open(ctx, store.Config{URL: url, MaxConns: 20})
	if err != nil {
		return err
	}
	defer st.Close()
	return do(st)
}

// fencelineDrain runs a pool until the outcomes of n jobs are stored.
func fencelineDrain(ctx context.Context, pool *worker.Pool, n int, limit time.Duration) (worked, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- pool.Run(ctx) }()
	for int(pool.Stats().Completed) < n && time.Since(start) < limit {
		select {
		case err := <-ended:
			return worked{}, fmt.Errorf("the pool ended: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
	w := since(int(pool.Stats().Completed), start)
	stop()
	return w, <-ended
}

func fencelineLatency(ctx context.Context, url string, n int, perSecond float64) (all []time.Duration, err error) {
	err = withStore(ctx, url, func(st *store.Store) error {
		sent := newStopwatch(n)
		pool := worker.New(st, fencelineConfig(0))
		worker.Handle(pool, "timed", func(_ context.Context, job worker.Job[int]) (any, error) {
			sent.arrived(job.Args)
			return nil, nil
		})
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(ctx) }()
		all, err = sent.measure(ctx, perSecond, func(i int) error {
			_, err := st.Enqueue(ctx, store.Request{Kind: "timed", Args: json.RawMessage(fmt.Sprint(i))})
			return err
		})
		stop()
		if ended := <-ended; err == nil {
			err = ended
		}
		return err
	})
	return all, err
}

// stopwatch measures from before an enqueueing call to the start of a handler.
// The first jobs are not counted: they find caches cold and plans unmade.
type stopwatch struct {
	mu     sync.Mutex
	start  []time.Time
	took   []time.Duration
	missed int
	all    chan struct{}
}

const warmUp = 100

func newStopwatch(n int) *stopwatch {
	n += warmUp
	return &stopwatch{start: make([]time.Time, n), took: make([]time.Duration, n), missed: n, all: make(chan struct{})}
}

func (s *stopwatch) arrived(i int) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took[i] == 0 {
		s.took[i] = now.Sub(s.start[i])
		if s.missed--; s.missed == 0 {
			close(s.all)
		}
	}
}

// measure enqueues at a rate and waits until every handler has started.
func (s *stopwatch) measure(ctx context.Context, perSecond float64, enqueue func(i int) error) ([]time.Duration, error) {
	time.Sleep(500 * time.Millisecond) // until the worker waits
	err := evenly(len(s.start), perSecond, func(i int) error {
		s.mu.Lock()
		s.start[i] = time.Now()
		s.mu.Unlock()
		return enqueue(i)
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-s.all:
		return s.took[warmUp:], nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("%d jobs were never started", s.missed)
	}
}
