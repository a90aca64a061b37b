package worker

import (
	"context"
	"time"
)

const (
	retainSweeps = 60          // sweeps between two looks for what is old
	retainEvery  = time.Minute // the longest pause between them
)

// retain removes what is old, a step at a time, and rests after each for as
// long as it took: half of one connection is the most that it takes from the
// database. Processes that do the same take turns.
func (p *Pool) retain(ctx context.Context) {
	every := min(retainEvery, retainSweeps*p.cfg.Sweep)
	for {
		p.steps(ctx, "remove old jobs", p.cfg.KeepJobs, func(ctx context.Context, keep time.Duration) (bool, error) {
			_, more, err := p.store.RemoveJobs(ctx, keep)
			return more, err
		})
		p.steps(ctx, "shorten the log", p.cfg.KeepTransitions, p.store.ShortenLog)
		if !pause(ctx, spread(every)) {
			return
		}
	}
}

// steps goes on until nothing more is to be done now.
func (p *Pool) steps(ctx context.Context, verb string, keep time.Duration, step func(context.Context, time.Duration) (bool, error)) {
	for more := keep >= 0; more; {
		start := p.now()
		var err error
		if more, err = step(ctx, keep); err != nil && ctx.Err() == nil {
			p.complain(verb, err)
		}
		if more && !pause(ctx, max(sweepFloor, p.now()-start)) {
			return
		}
	}
}
