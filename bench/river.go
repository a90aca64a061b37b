package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type riverNoop struct{}

func (riverNoop) Kind() string { return noopKind }

type riverTimed struct {
	I int `json:"i"`
}

func (riverTimed) Kind() string { return "timed" }

// riverTuning is what the settings change.
type riverTuning struct {
	workers        int
	cooldown, poll time.Duration
}

func riverQueue(settings string, t riverTuning, limit time.Duration) *contestant {
	return &contestant{
		name: "River", settings: settings, limit: limit, keeps: true,
		schema: func(ctx context.Context, url string) error {
			return withPool(ctx, url, 4, func(pool *pgxpool.Pool) error {
				m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: silent})
				if err != nil {
					return err
				}
				_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
				return err
			})
		},
		bulk: func(ctx context.Context, url string, n int) (w worked, err error) {
			err = withRiver(ctx, url, nil, func(c *river.Client[pgx.Tx]) error {
				params := make([]river.InsertManyParams, bulkSize)
				for i := range params {
					params[i] = river.InsertManyParams{Args: riverNoop{}}
				}
				w, err = inBulk(n, func(n int) error {
					_, err := c.InsertManyFast(ctx, params[:n])
					return err
				})
				return err
			})
			return w, err
		},
		single: func(ctx context.Context, url string, clients, n int) (w worked, err error) {
			err = withRiver(ctx, url, nil, func(c *river.Client[pgx.Tx]) error {
				w, err = fromClients(clients, n, func() error {
					_, err := c.Insert(ctx, riverNoop{}, nil)
					return err
				})
				return err
			})
			return w, err
		},
		drain: func(ctx context.Context, url string, n int, limit time.Duration) (w worked, err error) {
			workers := river.NewWorkers()
			river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[riverNoop]) error { return nil }))
			err = withRiver(ctx, url, t.config(workers), func(c *river.Client[pgx.Tx]) error {
				w, err = riverDrain(ctx, c, n, limit)
				return err
			})
			return w, err
		},
		latency: func(ctx context.Context, url string, n int, perSecond float64) (all []time.Duration, err error) {
			sent := newStopwatch(n)
			workers := river.NewWorkers()
			river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[riverTimed]) error {
				sent.arrived(job.Args.I)
				return nil
			}))
			err = withRiver(ctx, url, t.config(workers), func(c *river.Client[pgx.Tx]) error {
				if err := c.Start(ctx); err != nil {
					return err
				}
				all, err = sent.measure(ctx, perSecond, func(i int) error {
					_, err := c.Insert(ctx, riverTimed{i}, nil)
					return err
				})
				if stopErr := c.StopAndCancel(ctx); err == nil {
					err = stopErr
				}
				return err
			})
			return all, err
		},
	}
}

func (t riverTuning) config(workers *river.Workers) *river.Config {
	return &river.Config{
		Logger: silent, Workers: workers, FetchCooldown: t.cooldown, FetchPollInterval: t.poll,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: t.workers}},
	}
}

// riverDrain counts the events that River sends once a completion is stored.
func riverDrain(ctx context.Context, c *river.Client[pgx.Tx], n int, limit time.Duration) (worked, error) {
	events, cancel := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: n, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	start := time.Now()
	if err := c.Start(ctx); err != nil {
		return worked{}, err
	}
	timeout := time.After(limit)
	done := 0
count:
	for done < n {
		select {
		case <-events:
			done++
		case <-timeout:
			break count
		case <-ctx.Done():
			return worked{}, ctx.Err()
		}
	}
	w := since(done, start)
	if err := c.StopAndCancel(ctx); err != nil {
		return w, fmt.Errorf("stop River: %w", err)
	}
	return w, nil
}

func withPool(ctx context.Context, url string, conns int32, do func(*pgxpool.Pool) error) error {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.MaxConns = conns
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	return do(pool)
}

// withRiver gives a client its pool; a nil config makes one that only inserts.
func withRiver(ctx context.Context, url string, cfg *river.Config, do func(*river.Client[pgx.Tx]) error) error {
	if cfg == nil {
		cfg = &river.Config{Logger: silent}
	}
	return withPool(ctx, url, 20, func(pool *pgxpool.Pool) error {
		c, err := river.NewClient(riverpgxv5.New(pool), cfg)
		if err != nil {
			return err
		}
		return do(c)
	})
}
