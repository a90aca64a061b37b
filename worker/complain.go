package worker

import (
	"sync"
	"time"
)

// gripes thins out what is logged about a database that does not answer.
type gripes struct {
	mu   sync.Mutex
	last map[string]time.Duration
}

const gripeEvery = 5 * time.Second

// complain logs that a call of the store failed, at most once in five seconds
// for each verb.
func (p *Pool) complain(verb string, err error) {
	p.meter.Complained(verb)
	now := p.now()
	p.gripes.mu.Lock()
	last, before := p.gripes.last[verb]
	due := !before || now-last >= gripeEvery
	if due {
		if p.gripes.last == nil {
			p.gripes.last = make(map[string]time.Duration)
		}
		p.gripes.last[verb] = now
	}
	p.gripes.mu.Unlock()
	if due {
		p.cfg.Log.Warn("the database did not do it; trying again", "worker", p.id, "verb", verb, "reason", err.Error())
	}
}
