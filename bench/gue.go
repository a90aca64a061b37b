package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/vgarvardt/gue/v5"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"
)

// gueSchema is migrations/schema.sql of gue v5, which exports it in no other way.
const gueSchema = `
create table gue_jobs (
  job_id text not null primary key, priority smallint not null, run_at timestamptz not null, job_type text not null, args bytea not null,
  error_count integer not null default 0, last_error text, queue text not null, created_at timestamptz not null, updated_at timestamptz not null);
create index idx_gue_jobs_selector on gue_jobs (queue, run_at, priority)`

// gueBulk is as many as fit into one of its statements, which has nine
// parameters a job.
const gueBulk = 7000

func gueQueue(settings string, workers int, limit time.Duration) *contestant {
	with := func(ctx context.Context, url string, do func(*gue.Client) error) error {
		return withPool(ctx, url, int32(max(20, workers+4)), func(pool *pgxpool.Pool) error {
			c, err := gue.NewClient(pgxv5.NewConnPool(pool))
			if err != nil {
				return err
			}
			return do(c)
		})
	}
	return &contestant{
		name: "gue", settings: settings, limit: limit,
		schema: func(ctx context.Context, url string) error { return execute(ctx, url, gueSchema) },
		bulk: func(ctx context.Context, url string, n int) (w worked, err error) {
			err = with(ctx, url, func(c *gue.Client) error {
				w, err = inBulk(n, func(n int) error {
					jobs := make([]*gue.Job, n)
					for i := range jobs {
						jobs[i] = &gue.Job{Type: noopKind}
					}
					for part := range slices.Chunk(jobs, gueBulk) {
						if err := c.EnqueueBatch(ctx, part); err != nil {
							return err
						}
					}
					return nil
				})
				return err
			})
			return w, err
		},
		single: func(ctx context.Context, url string, clients, n int) (w worked, err error) {
			err = with(ctx, url, func(c *gue.Client) error {
				w, err = fromClients(clients, n, func() error { return c.Enqueue(ctx, &gue.Job{Type: noopKind}) })
				return err
			})
			return w, err
		},
		drain: func(ctx context.Context, url string, n int, limit time.Duration) (w worked, err error) {
			err = with(ctx, url, func(c *gue.Client) error {
				var done atomic.Int64
				finished := func(context.Context, *gue.Job, error) { done.Add(1) } // just before the commit: at most a job a worker too early
				pool, err := gue.NewWorkerPool(c, gue.WorkMap{noopKind: func(context.Context, *gue.Job) error { return nil }}, workers,
					gue.WithPoolHooksJobDone(finished), gue.WithPoolPollInterval(50*time.Millisecond))
				if err != nil {
					return err
				}
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				ended := make(chan error, 1)
				start := time.Now()
				go func() { ended <- pool.Run(ctx) }()
				for int(done.Load()) < n && time.Since(start) < limit {
					select {
					case err := <-ended:
						return fmt.Errorf("the pool ended: %w", err)
					case <-time.After(time.Millisecond):
					}
				}
				w = since(int(done.Load()), start)
				stop()
				<-ended
				return nil
			})
			return w, err
		},
	}
}
