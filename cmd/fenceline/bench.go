package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

type benchCmd struct {
	database
	Jobs  int `name:"jobs" default:"100000" help:"How many jobs of the kind noop."`
	Slots int `name:"slots" default:"500" help:"How many of them run at once."`
}

// benchResult is what was measured.
type benchResult struct {
	Jobs          int     `json:"jobs"`
	EnqueueS      float64 `json:"enqueue_s"`
	EnqueuePerS   float64 `json:"enqueue_per_s"`
	WorkS         float64 `json:"work_s"`
	WorkPerS      float64 `json:"work_per_s"`
	VerifyOK      bool    `json:"verify_ok"`
	VerifyS       float64 `json:"verify_s"`
	Transitions   int64   `json:"transitions"`
	Slots         int     `json:"slots"`
	CPUs          int     `json:"cpus"`
	ServerVersion string  `json:"server_version"`
}

// Run measures on a database that is made for it and dropped behind it.
func (c *benchCmd) Run(ctx context.Context, a *app) error {
	switch {
	case c.Jobs < 1 || c.Jobs > 100_000_000:
		return usagef("--jobs: must be between 1 and 100000000")
	case c.Slots < 1 || c.Slots > maxSlots:
		return usagef("--slots: must be between 1 and %d", maxSlots)
	}
	p, err := c.reach(ctx, a, visiting)
	if err != nil {
		return err
	}
	err = p.guard(ctx, func(ctx context.Context) error {
		return p.onFreshDatabase(ctx, a, func(s *store.Store, version string) error {
			r, err := c.measure(ctx, a, s)
			if err != nil {
				return err
			}
			r.ServerVersion = version
			return r.print(a)
		})
	})
	return errors.Join(err, p.close(ctx))
}

func (c *benchCmd) measure(ctx context.Context, a *app, st *store.Store) (benchResult, error) {
	r := benchResult{Jobs: c.Jobs, Slots: c.Slots, CPUs: runtime.GOMAXPROCS(0)}
	start := time.Now()
	if err := enqueueNoops(ctx, st, c.Jobs); err != nil {
		return r, err
	}
	r.EnqueueS, r.EnqueuePerS = rate(c.Jobs, start)
	start = time.Now()
	if err := c.drain(ctx, a, st); err != nil {
		return r, err
	}
	r.WorkS, r.WorkPerS = rate(c.Jobs, start)
	start = time.Now()
	report, err := st.Verify(ctx)
	if err != nil {
		return r, err
	}
	r.VerifyS, _ = rate(c.Jobs, start)
	r.VerifyOK, r.Transitions = report.OK && report.Jobs == int64(c.Jobs), report.Transitions
	return r, nil
}

func rate(n int, since time.Time) (seconds, perSecond float64) {
	seconds = max(time.Since(since).Seconds(), 1e-9)
	return round(seconds, 3), round(float64(n)/seconds, 0)
}

func round(f float64, digits int) float64 {
	scale := 1.0
	for range digits {
		scale *= 10
	}
	return float64(int64(f*scale+0.5)) / scale
}

// enqueueNoops stores the jobs in bulk, as enqueue --ndjson does.
func enqueueNoops(ctx context.Context, st *store.Store, n int) error {
	requests := make([]store.Request, min(n, chunkLines))
	for i := range requests {
		requests[i] = store.Request{Kind: worker.KindNoop, Actor: "bench"}
	}
	for n > 0 {
		batch := requests[:min(n, len(requests))]
		if _, err := st.EnqueueMany(ctx, batch); err != nil {
			return err
		}
		n -= len(batch)
	}
	return nil
}

// drain works every job with a pool and returns when each result is stored.
func (c *benchCmd) drain(ctx context.Context, a *app, st *store.Store) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := worker.New(st, worker.Config{Queues: map[string]int{store.DefaultQueue: c.Slots}, Name: "bench", Log: a.log})
	worker.HandleNoop(w)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for int(w.Stats().Completed) < c.Jobs {
		select {
		case err := <-done:
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(2 * time.Millisecond):
		}
	}
	stop()
	return <-done
}

func (r benchResult) print(a *app) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		verdict := "verified: nothing is wrong"
		if !r.VerifyOK {
			verdict = "VERIFY FOUND VIOLATIONS"
		}
		a.printf("enqueued %d jobs in %.2f s: %.0f a second\n", r.Jobs, r.EnqueueS, r.EnqueuePerS)
		a.printf("worked   %d jobs in %.2f s: %.0f a second (%d at once)\n", r.Jobs, r.WorkS, r.WorkPerS, r.Slots)
		a.printf("%s (%d transitions, %.2f s)\nPostgreSQL %s, %d CPUs\n", verdict, r.Transitions, r.VerifyS, r.ServerVersion, r.CPUs)
	}
	if !r.VerifyOK {
		return errSaid
	}
	return nil
}

// benchPrefix begins the name of every database that bench makes.
const benchPrefix = "fenceline_bench_"

// onFreshDatabase makes a database, opens a store on it, and drops it again.
func (p place) onFreshDatabase(ctx context.Context, a *app, do func(*store.Store, string) error) (err error) {
	admin, err := pgx.Connect(ctx, p.owner)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	p.dropLeftovers(ctx, a, admin)
	name := benchPrefix + strings.ToLower(rand.Text()[:10])
	if _, err := admin.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("make a database to measure on: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		if _, dropErr := admin.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)"); dropErr != nil {
			err = errors.Join(err, fmt.Errorf("drop the database %s that was measured on: %w", name, dropErr))
		}
	}()
	address, err := onDatabase(p.owner, name)
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx, address); err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Config{URL: address, StatementTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer st.Close()
	return do(st, admin.PgConn().ParameterStatus("server_version"))
}

// dropLeftovers drops the databases of runs that were killed. One that is in
// use is refused by the server.
func (p place) dropLeftovers(ctx context.Context, a *app, admin *pgx.Conn) {
	rows, err := admin.Query(ctx, `select datname from pg_database where starts_with(datname, $1) and pg_get_userbyid(datdba) = current_user`, benchPrefix)
	if err != nil {
		return
	}
	names, _ := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		if _, err := admin.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()); err != nil {
			a.log.Info("a database of another measurement is left alone", "database", name, "error", err)
		}
	}
}
