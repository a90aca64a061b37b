package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// sizes are how much each row of the table measures.
type sizes struct {
	rounds   int
	jobs     int // drained and enqueued in bulk
	finished int // there before the second drain; 0 leaves it out
	single   int // enqueued one at a time
	timed    int // latencies
	held     int // drained under a held snapshot; 0 leaves it out
	renewals time.Duration
	limit    time.Duration // of a drain at defaults
}

// bulkAndDrain measures both on one database: what is enqueued is then drained.
func (b *bench) bulkAndDrain(ctx context.Context, all []*contestant, s sizes) error {
	return b.rounds(ctx, "bulk enqueue and drain", s.rounds, all, func(ctx context.Context, c *contestant) error {
		return b.fresh(ctx, c, func(name, url string) error {
			w, err := b.costed("bulk enqueue", c, func() (worked, error) { return c.bulk(ctx, url, s.jobs) })
			if err != nil {
				return err
			}
			b.add("enqueue in bulk", c, "jobs/s", w.rate()).Note = fmt.Sprintf("%d a call, one client", bulkSize)
			if err := b.server.settle(ctx, name); err != nil {
				return err
			}
			w, err = b.costed("drain", c, func() (worked, error) { return c.drain(ctx, url, s.jobs, c.limit) })
			if err != nil {
				return err
			}
			b.add(fmt.Sprintf("drain %d no-op jobs", s.jobs), c, "jobs/s", w.rate()).Note = limited(w, s.jobs)
			if c.keeps && w.Jobs == s.jobs {
				return b.disk(ctx, c, name, s.jobs)
			}
			return nil
		})
	})
}

func limited(w worked, n int) string {
	if w.Jobs < n {
		return fmt.Sprintf("%d of them within %.0f s", w.Jobs, w.Seconds)
	}
	return ""
}

// disk is what finished jobs take, with whatever history and indexes, before
// anything is cleaned up.
func (b *bench) disk(ctx context.Context, c *contestant, name string, jobs int) error {
	const size = `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname <> 'information_schema' and n.nspname not like 'pg\_%'`
	var bytes float64
	if err := ask(ctx, b.server.url(name), &bytes, size); err != nil {
		return err
	}
	b.add("disk of a finished no-op job", c, "bytes", bytes/float64(jobs))
	return nil
}

// afterFinished drains again where many have been drained before.
func (b *bench) afterFinished(ctx context.Context, all []*contestant, s sizes) error {
	if s.finished == 0 {
		return nil
	}
	databases := map[*contestant]string{}
	for _, c := range all {
		name, err := b.server.database(ctx, c)
		if err != nil {
			return err
		}
		databases[c] = name
		defer b.server.drop(name)
		for left := s.finished; left > 0; left -= s.jobs {
			b.log("%s: %d jobs still to finish before the measurement", c.label(), left)
			n := min(left, s.jobs)
			if _, err := c.bulk(ctx, b.server.url(name), n); err != nil {
				return err
			}
			if err := b.server.settle(ctx, name); err != nil {
				return err
			}
			if _, err := c.drain(ctx, b.server.url(name), n, time.Minute); err != nil {
				return err
			}
		}
	}
	return b.rounds(ctx, "drain after many", s.rounds, all, func(ctx context.Context, c *contestant) error {
		name := databases[c]
		if _, err := c.bulk(ctx, b.server.url(name), s.jobs); err != nil {
			return err
		}
		if err := b.server.settle(ctx, name); err != nil {
			return err
		}
		w, err := c.drain(ctx, b.server.url(name), s.jobs, c.limit)
		if err != nil {
			return err
		}
		b.add(fmt.Sprintf("drain %d after %d finished", s.jobs, s.finished), c, "jobs/s", w.rate()).Note = limited(w, s.jobs)
		return nil
	})
}

const singleClients = 16

func (b *bench) single(ctx context.Context, all []*contestant, s sizes) error {
	return b.rounds(ctx, "enqueue one at a time", s.rounds, all, func(ctx context.Context, c *contestant) error {
		return b.fresh(ctx, c, func(name, url string) error {
			w, err := b.costed("enqueue one at a time", c, func() (worked, error) { return c.single(ctx, url, singleClients, s.single) })
			if err == nil {
				b.add(fmt.Sprintf("enqueue one at a time, %d clients", singleClients), c, "jobs/s", w.rate())
			}
			return err
		})
	})
}

const latencyRate = 200

func (b *bench) latency(ctx context.Context, all []*contestant, s sizes) error {
	return b.rounds(ctx, "latency", s.rounds, all, func(ctx context.Context, c *contestant) error {
		return b.fresh(ctx, c, func(name, url string) error {
			took, err := c.latency(ctx, url, s.timed, latencyRate)
			if err != nil {
				return err
			}
			slices.Sort(took)
			for _, p := range []float64{0.50, 0.99} {
				what := fmt.Sprintf("enqueue to start at %d/s, p%.0f", latencyRate, 100*p)
				b.add(what, c, "ms", percentile(took, p).Seconds()*1000)
			}
			return nil
		})
	})
}

// heldSnapshot drains in slices while another session keeps a snapshot open,
// and compares the last slice with the one before the snapshot was taken.
func (b *bench) heldSnapshot(ctx context.Context, all []*contestant, s sizes) error {
	if s.held == 0 {
		return nil
	}
	slice := s.jobs / 2
	return b.rounds(ctx, "held snapshot", s.rounds, all, func(ctx context.Context, c *contestant) error {
		return b.fresh(ctx, c, func(name, url string) error {
			pass := func() (float64, error) {
				if _, err := c.bulk(ctx, url, slice); err != nil {
					return 0, err
				}
				if err := b.server.settle(ctx, name); err != nil {
					return 0, err
				}
				w, err := c.drain(ctx, url, slice, time.Minute)
				return w.rate(), err
			}
			before, err := pass()
			if err != nil {
				return err
			}
			release, err := hold(ctx, url)
			if err != nil {
				return err
			}
			defer release()
			var last float64
			for done := 0; done < s.held; done += slice {
				if last, err = pass(); err != nil {
					return err
				}
			}
			b.add(fmt.Sprintf("speed after %d jobs under a held snapshot", s.held), c, "of before", last/before).
				Note = fmt.Sprintf("in slices of %d", slice)
			return nil
		})
	})
}

// hold keeps a snapshot open until the returned function is called.
func hold(ctx context.Context, url string) (func(), error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	release := func() { conn.Close(context.WithoutCancel(ctx)) }
	if _, err := conn.Exec(ctx, "begin isolation level repeatable read; select count(*) from pg_class"); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
