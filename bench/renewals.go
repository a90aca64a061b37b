package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

const (
	renewedJobs  = 2000
	renewedLease = 3 * time.Second // renewed each second: 2,000 renewals a second
)

// renewals runs as many handlers as make 2,000 renewals a second, beside
// nothing and beside a drain at full load, and counts the leases that are lost.
func (b *bench) renewals(ctx context.Context, c *contestant, s sizes) error {
	return b.rounds(ctx, "renewals", s.rounds, []*contestant{c}, func(ctx context.Context, c *contestant) error {
		return b.fresh(ctx, c, func(_, url string) error {
			return withStore(ctx, url, func(st *store.Store) error { return b.renew(ctx, c, url, st, s) })
		})
	})
}

func (b *bench) renew(ctx context.Context, c *contestant, url string, st *store.Store, s sizes) error {
	requests := make([]store.Request, renewedJobs)
	for i := range requests {
		requests[i] = store.Request{Kind: "long", Queue: "long"}
	}
	if _, err := st.EnqueueMany(ctx, requests); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pool := worker.New(st, worker.Config{Log: silent, Queues: map[string]int{"long": renewedJobs}, Lease: renewedLease})
	begun := make(chan struct{}, renewedJobs)
	worker.Handle(pool, "long", func(ctx context.Context, _ worker.Job[any]) (any, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx) }()
	for range renewedJobs {
		<-begun
	}
	count := func() (n int64, err error) {
		return n, ask(ctx, url, &n, "select count(*) from fenceline.transitions where type = 'renewed'")
	}
	for _, load := range []string{"alone", "beside a drain"} {
		stopDrain := func() (worked, error) { return worked{}, nil }
		if load != "alone" {
			stopDrain = b.drainBeside(ctx, c, url, s)
		}
		before, err := count()
		if err != nil {
			return err
		}
		start := time.Now()
		time.Sleep(s.renewals)
		after, err := count()
		if err != nil {
			return err
		}
		rate := float64(after-before) / time.Since(start).Seconds()
		w, err := stopDrain()
		if err != nil {
			return err
		}
		b.add("renewals with "+fmt.Sprint(renewedJobs)+" running, "+load, c, "renewals/s", rate)
		b.add("leases lost, "+load, c, "leases", float64(pool.Stats().Lost))
		if w.Jobs > 0 {
			b.add("drain beside these renewals", c, "jobs/s", w.rate())
		}
	}
	stop()
	return <-ended
}

// drainBeside keeps a drain going until the returned function is called.
func (b *bench) drainBeside(ctx context.Context, c *contestant, url string, s sizes) func() (worked, error) {
	type answer struct {
		w   worked
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		if _, err := c.bulk(ctx, url, 4*s.jobs); err != nil {
			answered <- answer{err: err}
			return
		}
		w, err := c.drain(ctx, url, 4*s.jobs, s.renewals)
		answered <- answer{w, err}
	}()
	return func() (worked, error) { a := <-answered; return a.w, a.err }
}
