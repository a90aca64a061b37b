package main

import (
	"context"
	"time"
)

// contestant is a job system with one set of settings. Each function works on
// a database that holds the contestant's schema; a nil one means that the
// contestant does not take part.
type contestant struct {
	name     string // of the system, the same for all its settings
	settings string // what is set, in words
	limit    time.Duration

	schema func(ctx context.Context, url string) error
	// bulk enqueues n no-op jobs, from one client, as fast as its API can.
	bulk func(ctx context.Context, url string, n int) (worked, error)
	// single enqueues n no-op jobs, each in a call of its own, from so many
	// clients at once. Every call returns when its job is durable.
	single func(ctx context.Context, url string, clients, n int) (worked, error)
	// drain works n waiting no-op jobs, or as many as it can within the limit,
	// and stops the clock when their outcomes are stored.
	drain func(ctx context.Context, url string, n int, limit time.Duration) (worked, error)
	// latency enqueues n jobs evenly at a rate while a worker waits, and
	// measures each from before the call that enqueues it to the first line of
	// its handler, on one clock.
	latency func(ctx context.Context, url string, n int, perSecond float64) ([]time.Duration, error)
	// keeps says that finished jobs stay in the database.
	keeps bool
}

func (c *contestant) label() string {
	if c.settings == "" {
		return c.name
	}
	return c.name + ", " + c.settings
}

// worked is how many jobs took how long.
type worked struct {
	Jobs    int     `json:"jobs"`
	Seconds float64 `json:"seconds"`
}

func (w worked) rate() float64 { return float64(w.Jobs) / max(w.Seconds, 1e-9) }

func since(n int, start time.Time) worked { return worked{n, time.Since(start).Seconds()} }

// noopKind is the kind, task or queue of what does nothing.
const noopKind = "noop"

// bulkSize is how many jobs go into one call of a bulk API.
const bulkSize = 10_000

// inBulk calls enqueue with the sizes of the bulks that make n.
func inBulk(n int, enqueue func(n int) error) (worked, error) {
	start := time.Now()
	for left := n; left > 0; left -= bulkSize {
		if err := enqueue(min(left, bulkSize)); err != nil {
			return worked{}, err
		}
	}
	return since(n, start), nil
}

// fromClients has each of so many clients call enqueue one time after another,
// n times together.
func fromClients(clients, n int, enqueue func() error) (worked, error) {
	start := time.Now()
	done := make(chan error, clients)
	for i := range clients {
		mine := n/clients + btoi(i < n%clients)
		go func() {
			for range mine {
				if err := enqueue(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	var failed error
	for range clients {
		if err := <-done; err != nil {
			failed = err
		}
	}
	return since(n, start), failed
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// evenly calls enqueue n times at a rate, each on a goroutine of its own, so
// that a slow call does not thin out those behind it. It returns the first
// error once all calls have returned.
func evenly(n int, perSecond float64, enqueue func(i int) error) error {
	done := make(chan error, n)
	start := time.Now()
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
		go func() { done <- enqueue(i) }()
	}
	var failed error
	for range n {
		if err := <-done; err != nil {
			failed = err
		}
	}
	return failed
}
