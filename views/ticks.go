package views

import "time"

// axisTick is a labelled time on the axis.
type axisTick struct {
	X       float64
	At      time.Time
	Show    string // how precise the label is: "ms", "s", "m" or "d"
	Label   string // in UTC
	Labeled bool   // false where the label would run into its neighbour
}

const tickRoom = 96.0 // px between two ticks at least

var tickSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// tickStep returns the smallest round step that leaves room between ticks.
func tickStep(length time.Duration, width float64) time.Duration {
	for _, step := range tickSteps {
		if float64(length)/float64(step)*tickRoom <= width {
			return step
		}
	}
	days := time.Duration(1)
	for float64(length)/float64(days*24*time.Hour)*tickRoom > width {
		days *= 2
	}
	return days * 24 * time.Hour
}

// axisTicks lists the ticks of every piece. A piece too short for one shows
// the time at which it begins.
func axisTicks(s scale) []axisTick {
	var out []axisTick
	dated := !sameDay(s.span().from, s.span().to)
	for _, p := range s.pieces {
		step := tickStep(p.length(), p.x1-p.x0)
		own := pieceTicks(p, step)
		if len(own) == 0 {
			own = []axisTick{newTick(p.x0, p.from, min(step, time.Second), dated)}
		}
		out = append(out, own...)
	}
	if dated && len(out) > 0 {
		markDates(out)
	}
	return keepLabelsApart(out)
}

func pieceTicks(p piece, step time.Duration) []axisTick {
	var out []axisTick
	for t := p.from.UTC().Truncate(step); !t.After(p.to); t = t.Add(step) {
		if !t.Before(p.from) {
			out = append(out, newTick(between(t, p.period, p.x0, p.x1), t, step, false))
		}
	}
	return out
}

func newTick(x float64, at time.Time, step time.Duration, dated bool) axisTick {
	t := axisTick{X: x, At: at.UTC()}
	switch {
	case dated:
		t.Show, t.Label = "dm", t.At.Format("Jan 2 15:04")
	case step < time.Second:
		t.Show, t.Label = "ms", t.At.Format("15:04:05.000")
	case step < time.Minute:
		t.Show, t.Label = "s", t.At.Format("15:04:05")
	case step < 24*time.Hour:
		t.Show, t.Label = "m", t.At.Format("15:04")
	default:
		t.Show, t.Label = "d", t.At.Format("Jan 2")
	}
	return t
}

// markDates adds the date to the first tick of each day.
func markDates(ticks []axisTick) {
	for i, t := range ticks {
		if t.Show != "d" && (i == 0 || !sameDay(t.At, ticks[i-1].At)) {
			ticks[i].Show, ticks[i].Label = "dm", t.At.Format("Jan 2 15:04")
		}
	}
}

// keepLabelsApart leaves out the labels that would run into the one before.
func keepLabelsApart(ticks []axisTick) []axisTick {
	end := 0.0
	for i := range ticks {
		left := ticks[i].left()
		if left >= end {
			ticks[i].Labeled, end = true, left+textWidth(ticks[i].Label)+12
		}
	}
	return ticks
}

// left is where the label begins.
func (t axisTick) left() float64 {
	switch t.anchor() {
	case "start":
		return t.X
	case "end":
		return t.X - textWidth(t.Label)
	}
	return t.X - textWidth(t.Label)/2
}

// anchor keeps the labels at both ends of the axis inside the drawing.
func (t axisTick) anchor() string {
	half := textWidth(t.Label) / 2
	switch {
	case t.X < plotLeft+half:
		return "start"
	case t.X > plotRight-half:
		return "end"
	}
	return "middle"
}
