package views

import (
	"sort"
	"time"
)

const (
	tickApart = 5.0 // px between two renewals that are drawn one by one
	tickMost  = 80  // renewals drawn one by one in a lane
)

// drawRenewals draws each renewal as a tick where there is room for that, and
// else one line that breaks where renewals paused.
func (l *laneShape) drawRenewals(s scale) {
	if len(l.Renewals) == 0 {
		return
	}
	first, last := s.x(l.Renewals[0]), s.x(l.Renewals[len(l.Renewals)-1])
	if len(l.Renewals) <= tickMost && (last-first) >= tickApart*float64(len(l.Renewals)-1) {
		l.Ticks = tickPositions(l.Renewals, s)
		return
	}
	l.Strip = renewalStrip(l.Renewals, s)
}

func tickPositions(at []time.Time, s scale) []float64 {
	out := make([]float64, 0, len(at))
	for _, t := range at {
		x := s.x(t)
		if n := len(out); n == 0 || x-out[n-1] >= tickApart {
			out = append(out, x)
		}
	}
	return out
}

// renewalStrip joins renewals that came in their usual rhythm and breaks where
// one took more than twice the usual time and the break can be seen.
func renewalStrip(at []time.Time, s scale) []stretch {
	usual := usualInterval(at)
	out := []stretch{{s.x(at[0]), 0}}
	for i := 1; i < len(at); i++ {
		x := s.x(at[i])
		last := &out[len(out)-1]
		if at[i].Sub(at[i-1]) > 2*usual && x-last.end() >= 2 {
			out = append(out, stretch{x, 0})
			continue
		}
		last.W = x - last.X
	}
	for i := range out {
		out[i].W = max(out[i].W, 1)
	}
	return out
}

// usualInterval is the median time between renewals.
func usualInterval(at []time.Time) time.Duration {
	gaps := make([]time.Duration, 0, len(at))
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i].Sub(at[i-1]))
	}
	if len(gaps) == 0 {
		return 0
	}
	sort.Slice(gaps, func(i, j int) bool { return gaps[i] < gaps[j] })
	return gaps[len(gaps)/2]
}

// largestInterval is the longest time between renewals.
func largestInterval(at []time.Time) time.Duration {
	var most time.Duration
	for i := 1; i < len(at); i++ {
		most = max(most, at[i].Sub(at[i-1]))
	}
	return most
}
