package events

import (
	"context"
	"time"
)

// minPulse is the shortest time between two ticks of one pulse.
const minPulse = 250 * time.Millisecond

// minBeat is the shortest time between two looks at the pulses: notifications
// can come by the thousand, and each look visits every pulse.
const minBeat = 50 * time.Millisecond

// Pulse ticks when something changed somewhere, for pages about many jobs.
type Pulse struct {
	// C ticks at once after a quiet time and then at most once per interval;
	// changes in between fold into one tick. It is never closed.
	C     <-chan struct{}
	c     chan struct{}
	hub   *Hub
	every time.Duration
	due   time.Time // no tick before this
	owed  bool
}

// Pulse makes a pulse with at least every (never less than 250 ms) between
// two ticks. The hub reads nothing for it. While no connection listens it
// ticks at the pace of Config.Poll, since nobody can know. Close it when done.
func (h *Hub) Pulse(every time.Duration) *Pulse {
	c := make(chan struct{}, 1)
	p := &Pulse{C: c, c: c, hub: h, every: max(every, minPulse)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulses[p] = struct{}{}
	return p
}

// Close ends the pulse. Repeats do nothing.
func (p *Pulse) Close() {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	delete(p.hub.pulses, p)
}

// changed needs the lock.
func (h *Hub) changed() {
	if len(h.pulses) == 0 {
		return
	}
	h.next.changed = true
	nudge(h.beat)
}

// tick serves the pulses until ctx ends.
func (h *Hub) tick(ctx context.Context) {
	later := time.NewTimer(time.Hour)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.beat:
		case <-later.C:
		}
		if wait, owing := h.beatOnce(time.Now()); owing {
			later.Reset(wait)
		}
		if !pause(ctx, minBeat) {
			return
		}
	}
}

// beatOnce ticks what is due and reports how long until the next one is.
func (h *Hub) beatOnce(now time.Time) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var wait time.Duration
	owing := false
	for p := range h.pulses {
		p.owed = p.owed || h.next.changed
		if !p.owed {
			continue
		}
		if left := p.due.Sub(now); left > 0 {
			if !owing || left < wait {
				wait, owing = left, true
			}
			continue
		}
		nudge(p.c)
		p.owed, p.due = false, now.Add(p.every)
	}
	h.next.changed = false
	return wait, owing
}

// pause waits for d and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
