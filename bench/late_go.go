package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/vgarvardt/gue/v5"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"

	"github.com/fenceline/fenceline/store"
)

func lateFenceline(ctx context.Context, url string) (v verdict, err error) {
	err = withStore(ctx, url, func(st *store.Store) error {
		if _, err := st.Enqueue(ctx, store.Request{Kind: "slow"}); err != nil {
			return err
		}
		claim := func(name string) (store.Claimed, error) {
			for {
				got, err := st.Claim(ctx, store.ClaimParams{Worker: name, Queue: store.DefaultQueue,
					Kinds: []store.KindLease{{Kind: "slow", Lease: 200 * time.Millisecond}}, AttemptIDs: []uuid.UUID{uuid.New()}})
				if err != nil || len(got) == 1 {
					return append(got, store.Claimed{})[0], err
				}
				if _, err := st.Expire(ctx, 10, store.DefaultBackoff); err != nil {
					return store.Claimed{}, err
				}
			}
		}
		a, err := claim("A")
		if err != nil {
			return err
		}
		b, err := claim("B")
		if err != nil {
			return err
		}
		offer := func(name string, l store.Lease) (error, error) {
			outcomes, err := st.Complete(ctx, name, []store.Completion{{Lease: l, Result: []byte(`{"by": "` + name + `"}`)}})
			if err != nil {
				return nil, err
			}
			return outcomes[0].Err, nil
		}
		refused, err := offer("A", a.Lease)
		if err != nil {
			return err
		}
		var stale *store.StaleError
		v.Accepted = !errors.As(refused, &stale)
		if !v.Accepted {
			v.What = fmt.Sprintf("generation %d against %d: %s, and on the job's timeline", a.Lease.Generation, b.Lease.Generation, stale.Reason)
		}
		return nil
	})
	return v, err
}

type riverSlow struct{}

func (riverSlow) Kind() string { return "slow" }

// lateRiver lets River's own rescuer take the job from A; it runs every 30 s.
func lateRiver(ctx context.Context, url string) (v verdict, err error) {
	type turn struct {
		attempt int
		end     chan struct{}
	}
	turns := make(chan turn)
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverSlowWorker{work: func(ctx context.Context, job *river.Job[riverSlow]) error {
		t := turn{job.Attempt, make(chan struct{})}
		turns <- t
		<-t.end
		return river.RecordOutput(ctx, fmt.Sprintf("attempt %d", t.attempt))
	}})
	cfg := riverTuning{workers: 10, cooldown: 100 * time.Millisecond}.config(workers)
	cfg.RescueStuckJobsAfter, cfg.JobTimeout = time.Second, 500*time.Millisecond // the handler, being paused, does not see it
	err = withRiver(ctx, url, cfg, func(c *river.Client[pgx.Tx]) error {
		if err := c.Start(ctx); err != nil {
			return err
		}
		events, cancel := c.Subscribe(river.EventKindJobCompleted)
		defer cancel()
		inserted, err := c.Insert(ctx, riverSlow{}, nil)
		if err != nil {
			return err
		}
		take := func() (turn, error) {
			select {
			case t := <-turns:
				return t, nil
			case <-ctx.Done():
				return turn{}, ctx.Err()
			}
		}
		a, err := take()
		if err != nil {
			return err
		}
		b, err := take()
		if err != nil {
			return err
		}
		close(a.end)
		select {
		case <-events:
		case <-time.After(10 * time.Second):
		}
		job, err := c.JobGet(ctx, inserted.Job.ID)
		if err != nil {
			return err
		}
		v.Accepted = job.State == "completed"
		v.What = fmt.Sprintf("the job is %s with output %s while B runs it as attempt %d", job.State, job.Output(), b.attempt)
		close(b.end)
		return c.Stop(ctx)
	})
	return v, err
}

// riverSlowWorker lets a rescued job be retried at once.
type riverSlowWorker struct {
	river.WorkerDefaults[riverSlow]
	work func(context.Context, *river.Job[riverSlow]) error
}

func (w *riverSlowWorker) Work(ctx context.Context, job *river.Job[riverSlow]) error {
	return w.work(ctx, job)
}
func (w *riverSlowWorker) NextRetry(*river.Job[riverSlow]) time.Time { return time.Now() }

// lateGue cuts A's connection: a gue worker owns its job by an open
// transaction, and nothing else takes the job away.
func lateGue(ctx context.Context, url string) (v verdict, err error) {
	err = withPool(ctx, url, 4, func(pool *pgxpool.Pool) error {
		c, err := gue.NewClient(pgxv5.NewConnPool(pool))
		if err != nil {
			return err
		}
		if err := c.Enqueue(ctx, &gue.Job{Type: "slow"}); err != nil {
			return err
		}
		a, err := c.LockJob(ctx, "")
		if err != nil || a == nil {
			return fmt.Errorf("A got no job: %w", err)
		}
		const cut = `select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
		if err := execute(ctx, url, cut); err != nil {
			return err
		}
		b, err := c.LockJob(ctx, "")
		if err != nil || b == nil {
			return fmt.Errorf("B got no job: %w", err)
		}
		err = a.Delete(ctx)
		v.Accepted = err == nil
		v.What = "ownership is an open transaction, which ended with the connection"
		a.Done(ctx)
		if err := b.Delete(ctx); err != nil {
			return err
		}
		return b.Done(ctx)
	})
	return v, err
}
