package views

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// Chart is a job's timeline as plain geometry in the units of its drawing.
type Chart struct {
	Width, Height float64
	Top, Bottom   float64 // between them the lanes
	Marks         float64 // where flags are named
	NowLabel      float64 // where now is named, clear of the flags
	Ticks         []axisTick
	Folds         []foldMark
	Lanes         []laneShape
	Gaps          []gapShape
	Flags         []flagShape
	Now           float64 // x of the database's clock; below zero where it is off the axis
	PerSecond     float64 // px that now moves in a second
	From, To      time.Time
	Hidden        []store.Lane // earlier attempts that are not drawn
	Compact       bool         // many lanes: one line each
	Zoom          int64        // the generation shown alone; 0 for all
}

// foldMark is an idle stretch that the axis folds.
type foldMark struct {
	X, Width float64
	Label    string
	Title    string
}

// ChartOptions choose what a chart shows.
type ChartOptions struct {
	Zoom int64 // one attempt's generation; 0 for all
	Full bool  // every lane, up to a bound
}

const (
	chartWidth  = 1240.0
	plotLeft    = 196.0
	plotRight   = 1224.0
	plotTop     = 28.0
	roomyLane   = 56.0
	compactLane = 28.0
	roomyLanes  = 6   // more of them are drawn in one line each
	newestLanes = 12  // drawn unless all are asked for
	mostLanes   = 400 // drawn at the very most
)

// NewChart lays out a job's attempts on a common axis.
func NewChart(v store.JobView, o ChartOptions) Chart {
	lanes, hidden := chooseLanes(v.History.Lanes, o, v.Now)
	c := Chart{Width: chartWidth, Top: plotTop, Hidden: hidden, Compact: len(lanes) > roomyLanes, Now: -1, Zoom: o.Zoom}
	busy := busyPeriods(v, lanes, o)
	s := newScale(busy, plotLeft, plotRight)
	c.From, c.To = s.span().from, s.span().to
	c.Ticks, c.Folds = axisTicks(s), foldMarks(s)
	c.placeNow(s, v)
	y := c.Top + 6
	for _, l := range lanes {
		c.Lanes = append(c.Lanes, newLaneShape(l, s, v.Now, y, c.Compact))
		y += c.pitch()
	}
	c.Gaps = gapShapes(c.Lanes, s, v, c.Compact)
	c.Bottom = max(y, c.Top+roomyLane)
	c.Marks = c.Bottom + 18
	if len(c.Folds) > 0 {
		c.Marks += 14
	}
	c.Flags = flagShapes(v, s, c.Marks)
	c.NowLabel = c.Marks
	if len(c.Flags) > 0 && c.Now >= 0 {
		c.NowLabel += 13
	}
	c.Height = c.NowLabel + 8
	return c
}

func (c Chart) pitch() float64 {
	if c.Compact {
		return compactLane
	}
	return roomyLane
}

// chooseLanes returns the lanes to draw and the earlier ones left out.
func chooseLanes(all []store.Lane, o ChartOptions, now time.Time) (drawn, hidden []store.Lane) {
	if o.Zoom != 0 {
		return zoomLanes(all, o.Zoom, now), nil
	}
	most := newestLanes
	if o.Full {
		most = mostLanes
	}
	if len(all) <= most {
		return all, nil
	}
	return all[len(all)-most:], all[:len(all)-most]
}

// zoomLanes returns the lane of a generation and those that overlap it.
func zoomLanes(all []store.Lane, generation int64, now time.Time) []store.Lane {
	var window period
	for _, l := range all {
		if l.Generation == generation {
			window = lanePeriod(l, now)
		}
	}
	var out []store.Lane
	for _, l := range all {
		p := lanePeriod(l, now)
		if l.Generation == generation || (p.from.Before(window.to) && p.to.After(window.from) && len(out) < newestLanes) {
			out = append(out, l)
		}
	}
	return out
}

// busyPeriods lists what the axis must give room to.
func busyPeriods(v store.JobView, lanes []store.Lane, o ChartOptions) []period {
	var out []period
	if o.Zoom != 0 {
		for _, l := range lanes {
			if l.Generation == o.Zoom {
				out = append(out, padded(lanePeriod(l, v.Now)))
			}
		}
		return out
	}
	first := time.Time{}
	for _, l := range lanes {
		out = append(out, lanePeriods(l, v.Now)...)
		if first.IsZero() {
			first = l.ClaimedAt
		}
	}
	if first.IsZero() || len(lanes) == len(v.History.Lanes) {
		first = v.Job.CreatedAt
		out = append(out, period{first, first})
	}
	for _, a := range v.History.Actions {
		if !a.At.Before(first) {
			out = append(out, period{a.At, a.At})
		}
	}
	if !v.Job.State.Terminal() {
		out = append(out, period{v.Now, v.Now.Add(ahead(out))})
	}
	return out
}

// ahead is how much of the future a drawing shows, for now to move into.
func ahead(busy []period) time.Duration {
	var total time.Duration
	for _, p := range mergePeriods(busy) {
		total += p.length()
	}
	return max(total/20, time.Second)
}

// padded adds a little room on both sides, so that an end is seen as one.
func padded(p period) period {
	room := max(p.length()/20, time.Millisecond)
	return period{p.from.Add(-room), p.to.Add(room)}
}

func (c *Chart) placeNow(s scale, v store.JobView) {
	if v.Job.State.Terminal() || len(s.pieces) == 0 || v.Now.After(s.span().to) || v.Now.Before(s.span().from) {
		return
	}
	c.Now = s.x(v.Now)
	for _, p := range s.pieces {
		if !v.Now.Before(p.from) && v.Now.Before(p.to) {
			c.PerSecond = (p.x1 - p.x0) / p.length().Seconds()
		}
	}
}

func foldMarks(s scale) []foldMark {
	out := make([]foldMark, 0, len(s.folds))
	for _, f := range s.folds {
		m := foldMark{X: f.x0, Width: f.x1 - f.x0, Title: Span(f.length()) + " folded: nothing happened"}
		if m.Width >= foldWidth-1 {
			m.Label = coarse(f.length())
		}
		out = append(out, m)
	}
	return out
}

// coarse writes a duration with one unit, for a narrow place.
func coarse(d time.Duration) string {
	switch {
	case d < time.Second:
		return decimal(d.Milliseconds()) + " ms"
	case d < time.Minute:
		return decimal(int64(d/time.Second)) + " s"
	case d < time.Hour:
		return decimal(int64(d/time.Minute)) + " m"
	case d < 48*time.Hour:
		return decimal(int64(d/time.Hour)) + " h"
	}
	return decimal(int64(d/(24*time.Hour))) + " d"
}
