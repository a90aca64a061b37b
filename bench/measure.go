package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// row is a line of the table: one thing measured of one contestant, over all
// rounds.
type row struct {
	What       string    `json:"what"`
	Contestant string    `json:"contestant"`
	Settings   string    `json:"settings,omitempty"`
	Unit       string    `json:"unit"`
	Values     []float64 `json:"values"` // one a round, in their order
	Median     float64   `json:"median"`
	Least      float64   `json:"least"`
	Most       float64   `json:"most"`
	Note       string    `json:"note,omitempty"`
}

// bench collects rows, each round of all contestants before the next.
type bench struct {
	server *server
	log    func(format string, args ...any)
	rows   []*row
}

func (b *bench) add(what string, c *contestant, unit string, value float64) *row {
	for _, r := range b.rows {
		if r.What == what && r.Contestant == c.name && r.Settings == c.settings && r.Unit == unit {
			r.Values = append(r.Values, value)
			return r
		}
	}
	r := &row{What: what, Contestant: c.name, Settings: c.settings, Unit: unit, Values: []float64{value}}
	b.rows = append(b.rows, r)
	return r
}

// finish works the medians out.
func (b *bench) finish() {
	for _, r := range b.rows {
		sorted := slices.Sorted(slices.Values(r.Values))
		r.Median, r.Least, r.Most = median(sorted), sorted[0], sorted[len(sorted)-1]
	}
}

// median of what is sorted; of an even number, the mean of the middle two.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// percentile is the smallest value that so many of the sorted ones do not exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[max(int(math.Ceil(p*float64(len(sorted))))-1, 0)]
}

// rounds alternates: every contestant once, then all again, so that a machine
// that slows down for a minute slows all of them. The order turns by one each
// round.
func (b *bench) rounds(ctx context.Context, what string, n int, all []*contestant, run func(context.Context, *contestant) error) error {
	if len(all) == 0 {
		return nil
	}
	for round := range n {
		for i := range all {
			c := all[(i+round)%len(all)]
			b.log("%s, round %d of %d: %s", what, round+1, n, c.label())
			if err := run(ctx, c); err != nil {
				return fmt.Errorf("%s: %s: %w", what, c.label(), err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// fresh runs with an empty database of the contestant's schema.
func (b *bench) fresh(ctx context.Context, c *contestant, run func(name, url string) error) error {
	name, err := b.server.database(ctx, c)
	if err != nil {
		return err
	}
	err = run(name, b.server.url(name))
	if dropErr := b.server.drop(name); err == nil {
		err = dropErr
	}
	return err
}

// those of the contestants that can.
func those(all []*contestant, can func(*contestant) bool) (some []*contestant) {
	for _, c := range all {
		if can(c) {
			some = append(some, c)
		}
	}
	return some
}
