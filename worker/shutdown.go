package worker

import (
	"context"
	"time"
)

// shutDown waits for the handlers and the storing of their outcomes, within the
// configured times, and returns how many attempts are left to expire. A handler
// that ignores its cancelled context is never handed to another worker early:
// it may still be acting.
func (p *Pool) shutDown(end context.CancelFunc) (left int) {
	if !p.awaitHandlers(p.cfg.Grace) {
		p.interrupt()
		p.awaitHandlers(p.cfg.Wind)
	}
	timer := time.AfterFunc(p.cfg.Wind, end)
	defer timer.Stop()
	p.completer.drain()
	return p.unsettled()
}

// awaitHandlers waits until no handler runs; false when the time was too short.
func (p *Pool) awaitHandlers(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for p.running() > 0 {
		select {
		case <-timer.C:
			return p.running() == 0
		case <-p.idled:
		}
	}
	return true
}

// interrupt cancels every attempt that still runs.
func (p *Pool) interrupt() {
	p.keeper.mu.Lock()
	defer p.keeper.mu.Unlock()
	for _, a := range p.keeper.held {
		a.cancel(ErrShutdown)
	}
}

func (p *Pool) running() (n int) {
	for _, q := range p.queues {
		q.mu.Lock()
		n += q.running
		q.mu.Unlock()
	}
	return n
}

// unsettled counts the attempts whose outcome is not stored, given up ones
// included.
func (p *Pool) unsettled() int {
	n := int(p.stats.abandoned.Load())
	for _, q := range p.queues {
		q.mu.Lock()
		n += q.unsettled
		q.mu.Unlock()
	}
	return n
}

// quiet says that a queue has no running handler.
func (p *Pool) quiet() {
	if !p.stopping.Load() {
		return
	}
	select {
	case p.idled <- struct{}{}:
	default:
	}
}
