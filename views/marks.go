package views

import (
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// gapShape is the time in which nobody owned the job, after a lease expired.
type gapShape struct {
	X0, X1, Y float64
	Half      float64 // how far its marks reach up and down
	Label     label
	Title     string
}

// gapShapes draws what lies between an expiry and the next claim, or now.
func gapShapes(lanes []laneShape, s scale, v store.JobView, compact bool) []gapShape {
	var out []gapShape
	for _, l := range lanes {
		if l.End != store.EndExpired {
			continue
		}
		until, ok := ownedAgain(v, l.Generation)
		if !ok {
			continue
		}
		g := gapShape{X0: s.x(l.LeaseUntil), X1: s.x(until), Y: l.Y + l.Height + 13, Half: 7}
		g.Title = "unowned " + Span(until.Sub(l.LeaseUntil))
		if !compact {
			g.Label = gapLabel(g, g.Title)
		}
		if l.under(g.Label.left(), g.Label.right()) { // its title still says how long
			g.Label = label{}
		}
		switch {
		case compact:
			g.Y = l.Y + l.Height + 5
		case l.under(g.X0, g.X1): // between the lane and what is written
			g.Y, g.Half = l.Y+l.Height+2.5, 2.5
		}
		out = append(out, g)
	}
	return out
}

// ownedAgain is when a job that a generation lost was claimed again, or now
// while it waits for that. It is not while nobody is to claim it.
func ownedAgain(v store.JobView, generation int64) (time.Time, bool) {
	if next := laneOf(v, generation+1); next != nil {
		return next.ClaimedAt, true
	}
	return v.Now, !v.Job.State.Terminal() && generation == v.Job.Generation
}

func gapLabel(g gapShape, text string) label {
	l := label{Text: text, Y: g.Y + 4, X: g.X0 - 6, Anchor: "end"}
	if g.X0-6-textWidth(text) < plotLeft {
		l.X, l.Anchor = g.X1+6, "start"
	}
	return l
}

// flagShape is an operator's action, or several close together, drawn across
// the lanes.
type flagShape struct {
	X     float64
	Y     float64
	Text  string // empty where there is no room for it
	Right bool   // the text stands left of the line
	Tone  Tone
	Title string
	acts  []store.Transition
}

const flagApart = 14.0 // px between two flags that are drawn apart

// flagShapes places the operators' actions under the lanes.
func flagShapes(v store.JobView, s scale, y float64) []flagShape {
	span := s.span()
	var out []flagShape
	for _, a := range v.History.Actions {
		if a.At.Before(span.from) || a.At.After(span.to) {
			continue
		}
		x := s.x(a.At)
		if n := len(out); n > 0 && x-out[n-1].X < flagApart {
			out[n-1].acts = append(out[n-1].acts, a)
			continue
		}
		out = append(out, flagShape{X: x, Y: y, acts: []store.Transition{a}})
	}
	end := plotLeft
	for i := range out {
		out[i].describe()
		end = out[i].place(end)
	}
	return out
}

func (f *flagShape) describe() {
	last := f.acts[len(f.acts)-1]
	f.Tone = TypeTone(last.Type)
	f.Text = string(last.Type)
	if len(f.acts) > 1 {
		f.Text = Plural(int64(len(f.acts)), "action")
	} else if last.Actor != "" {
		f.Text += " · " + MiddleCut(last.Actor, 20)
	}
	lines := make([]string, 0, len(f.acts))
	for _, a := range f.acts[max(0, len(f.acts)-6):] {
		lines = append(lines, fullTime(a.At)+": "+string(a.Type)+" by "+a.Actor)
	}
	f.Title = strings.Join(lines, "\n")
}

// place keeps flags' texts apart; it returns where the next may begin.
func (f *flagShape) place(end float64) float64 {
	width := textWidth(f.Text) + 10
	switch {
	case f.X >= end && f.X+width <= plotRight:
		return f.X + width
	case f.X-width >= end:
		f.Right = true
		return f.X
	}
	f.Text = ""
	return end
}
