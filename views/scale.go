package views

import (
	"sort"
	"time"
)

// period is a stretch of time in which something of a job happened.
type period struct{ from, to time.Time }

func (p period) length() time.Duration { return p.to.Sub(p.from) }

// piece is a stretch of the time axis that is drawn in proportion.
type piece struct {
	period
	x0, x1 float64
}

// fold is an idle stretch between two pieces, drawn short.
type fold struct {
	period
	x0, x1 float64
}

// scale maps times to x. It is linear within a piece; idle stretches that
// would squeeze what happened are folded to a small fixed width.
type scale struct {
	pieces []piece
	folds  []fold
}

const (
	foldWidth = 44.0 // px of a folded stretch, where there is room
	pieceMin  = 30.0 // px that every piece gets, where there is room
)

// newScale lays busy periods out between x0 and x1. The largest idle stretches
// are folded until what is left of them is no longer than the busy time.
func newScale(busy []period, x0, x1 float64) scale {
	merged := mergePeriods(busy)
	if len(merged) == 0 {
		return scale{}
	}
	return layOut(joinShortIdle(merged), x0, x1)
}

// mergePeriods sorts periods and joins those that touch.
func mergePeriods(busy []period) []period {
	sorted := append([]period(nil), busy...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].from.Before(sorted[j].from) })
	var out []period
	for _, p := range sorted {
		if p.to.Before(p.from) {
			p.to = p.from
		}
		last := len(out) - 1
		if last < 0 || p.from.After(out[last].to) {
			out = append(out, p)
		} else if p.to.After(out[last].to) {
			out[last].to = p.to
		}
	}
	return out
}

// joinShortIdle joins periods over the idle stretches that may be drawn in
// proportion and leaves the others apart.
func joinShortIdle(merged []period) []period {
	room := time.Duration(0)
	idle := make([]int, 0, len(merged))
	for i, p := range merged {
		room += p.length()
		if i > 0 {
			idle = append(idle, i)
		}
	}
	length := func(i int) time.Duration { return merged[i].from.Sub(merged[i-1].to) }
	sort.Slice(idle, func(a, b int) bool { return length(idle[a]) < length(idle[b]) })
	joined := make(map[int]bool, len(idle))
	for _, i := range idle {
		if length(i) > room {
			break
		}
		room -= length(i)
		joined[i] = true
	}
	out := merged[:1:1]
	for i, p := range merged[1:] {
		if joined[i+1] {
			out[len(out)-1].to = p.to
		} else {
			out = append(out, p)
		}
	}
	return out
}

// layOut gives every period its least width and shares the rest in proportion.
func layOut(periods []period, x0, x1 float64) scale {
	n := float64(len(periods))
	gap := min(foldWidth, 0.4*(x1-x0)/n)
	room := x1 - x0 - gap*(n-1)
	least := min(pieceMin, room/(2*n))
	var total time.Duration
	for _, p := range periods {
		total += p.length()
	}
	var s scale
	x := x0
	for i, p := range periods {
		w := least + (room-n*least)*share(p.length(), total, n)
		if i > 0 {
			s.folds = append(s.folds, fold{period{periods[i-1].to, p.from}, x - gap, x})
		}
		s.pieces = append(s.pieces, piece{p, x, x + w})
		x += w + gap
	}
	return s
}

func share(part, total time.Duration, n float64) float64 {
	if total <= 0 {
		return 1 / n
	}
	return float64(part) / float64(total)
}

// x returns where a time is drawn; times outside the axis are drawn at its
// nearer end.
func (s scale) x(t time.Time) float64 {
	for i, p := range s.pieces {
		if t.Before(p.from) {
			if i == 0 {
				return p.x0
			}
			return between(t, s.folds[i-1].period, s.folds[i-1].x0, s.folds[i-1].x1)
		}
		if !t.After(p.to) {
			return between(t, p.period, p.x0, p.x1)
		}
	}
	if len(s.pieces) == 0 {
		return 0
	}
	return s.pieces[len(s.pieces)-1].x1
}

func between(t time.Time, p period, x0, x1 float64) float64 {
	if p.length() <= 0 {
		return x0
	}
	return x0 + (x1-x0)*float64(t.Sub(p.from))/float64(p.length())
}

// span is the time from the axis' start to its end.
func (s scale) span() period {
	if len(s.pieces) == 0 {
		return period{}
	}
	return period{s.pieces[0].from, s.pieces[len(s.pieces)-1].to}
}
