package web

import "time"

// pace spaces out work that anything may ask for: at once after a quiet time,
// then not before the interval has passed, and never for more than about a
// fifth of the time.
type pace struct {
	every time.Duration
	next  time.Time
	timer *time.Timer
	armed bool
}

func newPace(every time.Duration) *pace {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &pace{every: every, timer: t}
}

// ask makes due tick as soon as the pace allows.
func (p *pace) ask() {
	if !p.armed {
		p.armed = true
		p.timer.Reset(time.Until(p.next))
	}
}

func (p *pace) due() <-chan time.Time { return p.timer.C }

// did notes what was asked for as done, begun at the given time.
func (p *pace) did(began time.Time) {
	p.armed = false
	p.next = began.Add(max(p.every, 5*time.Since(began)))
}

func (p *pace) stop() { p.timer.Stop() }
