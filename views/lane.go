package views

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// laneShape is one attempt drawn as a row.
type laneShape struct {
	store.Lane
	Y, Height float64   // of the bar
	Held      stretch   // a lease covered it
	Ahead     stretch   // the granted lease that lies in the future
	Hatch     stretch   // the process may still run, without authority
	HatchOpen bool      // nothing was heard of it since
	Ticks     []float64 // renewals, one by one
	Strip     []stretch // renewals too many for ticks: a line, broken where they paused
	Inside    string    // label within the bar
	EndX      float64   // where the end is marked; below zero when it runs
	Diamonds  []diamond
	Labels    []label
	Title     string
}

// stretch is a horizontal part of a lane; empty when its width is zero.
type stretch struct{ X, W float64 }

func (s stretch) end() float64 { return s.X + s.W }

const thinnest = 3.0 // px of the shortest lease

// lanePeriod is the time from an attempt's claim to the last that is known or
// supposed of it.
func lanePeriod(l store.Lane, now time.Time) period {
	ps := lanePeriods(l, now)
	if len(ps) == 0 {
		return period{now, now}
	}
	p := ps[0]
	for _, q := range ps {
		if q.to.After(p.to) {
			p.to = q.to
		}
	}
	return p
}

// lanePeriods lists what of a lane needs room: its lease with what may have
// run on after it, and each refused write.
func lanePeriods(l store.Lane, now time.Time) []period {
	if l.ClaimedAt.IsZero() {
		return refusedPeriods(l)
	}
	end := authorityEnd(l, now)
	if hatch := hatchPeriod(l, now); hatch.to.After(end) {
		end = hatch.to
	}
	if l.End == "" && l.LeaseUntil.After(end) {
		end = l.LeaseUntil
	}
	return append([]period{{l.ClaimedAt, end}}, refusedPeriods(l)...)
}

// refusedPeriods lists the refused writes alone, which is all there is of an
// attempt whose claim the log no longer holds.
func refusedPeriods(l store.Lane) []period {
	out := make([]period, 0, len(l.Refused))
	for _, r := range l.Refused {
		out = append(out, period{r.At, r.At})
	}
	return out
}

// authorityEnd is when an attempt's permission ended, or now while it lasts.
func authorityEnd(l store.Lane, now time.Time) time.Time {
	if l.End == store.EndExpired || (l.End == "" && l.LeaseUntil.Before(now)) {
		return l.LeaseUntil
	}
	if l.End == "" {
		return now
	}
	return l.EndedAt
}

// hatchPeriod is the time in which the attempt's process may have run without
// authority: until its last refused write, else for as long as its lease was,
// after which the drawing only says that nothing was heard.
func hatchPeriod(l store.Lane, now time.Time) period {
	if !mayRunOn(l, now) {
		return period{}
	}
	from := authorityEnd(l, now)
	if n := len(l.Refused); n > 0 {
		return period{from, later(from, l.Refused[n-1].At)}
	}
	lease := l.LeaseUntil.Sub(l.ClaimedAt)
	if n := len(l.Renewals); n > 0 {
		lease = l.LeaseUntil.Sub(l.Renewals[n-1])
	}
	to := from.Add(lease)
	if to.After(now) {
		to = now
	}
	return period{from, later(from, to)}
}

// mayRunOn reports whether the attempt lost its permission without ending
// itself.
func mayRunOn(l store.Lane, now time.Time) bool {
	if l.ClaimedAt.IsZero() {
		return false
	}
	switch l.End {
	case store.EndExpired, store.EndRequeued, store.EndTerminated:
		return true
	case "":
		return l.LeaseUntil.Before(now)
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// newLaneShape draws a lane whose row begins at y.
func newLaneShape(l store.Lane, s scale, now time.Time, y float64, compact bool) laneShape {
	shape := laneShape{Lane: l, Y: y + 14, Height: 22, EndX: -1, Title: laneTitle(l, now)}
	if compact {
		shape.Y, shape.Height = y+5, 16
	}
	if l.ClaimedAt.IsZero() {
		shape.Diamonds = diamonds(l.Refused, s)
		shape.placeLabels(compact)
		return shape
	}
	end := authorityEnd(l, now)
	shape.Held = drawn(s, period{l.ClaimedAt, end})
	if l.End == "" && l.LeaseUntil.After(end) {
		shape.Ahead = stretch{shape.Held.end(), max(0, s.x(l.LeaseUntil)-shape.Held.end())}
	}
	if hatch := hatchPeriod(l, now); hatch.to.After(hatch.from) {
		x := shape.Held.end()
		shape.Hatch = stretch{x, max(thinnest, s.x(hatch.to)-x)}
		shape.HatchOpen = len(l.Refused) == 0
	}
	if l.End != "" {
		shape.EndX = shape.Held.end()
	}
	shape.drawRenewals(s)
	shape.Diamonds = diamonds(l.Refused, s)
	shape.placeLabels(compact)
	return shape
}

func drawn(s scale, p period) stretch {
	x := s.x(p.from)
	return stretch{x, max(thinnest, s.x(p.to)-x)}
}

func laneTitle(l store.Lane, now time.Time) string {
	if l.ClaimedAt.IsZero() {
		return "Attempt " + decimal(l.Generation) + ": its claim is no longer in the log"
	}
	title := "Attempt " + decimal(l.Generation) + " held the job for " + Span(authorityEnd(l, now).Sub(l.ClaimedAt))
	if l.End == "" && !mayRunOn(l, now) {
		title = "Attempt " + decimal(l.Generation) + " has held the job for " + Span(now.Sub(l.ClaimedAt))
	}
	if n := len(l.Renewals); n > 0 {
		title += ", renewed ×" + Grouped(int64(n))
	}
	return title
}
