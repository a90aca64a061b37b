package worker

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	sweepBatch     = 500
	sweepFloor     = 10 * time.Millisecond // the shortest pause after a look that found nothing
	partitionEvery = time.Hour
)

// sideline starts what serves every pool on the database: sweepers, and the
// listener that announces work to this one.
func (p *Pool) sideline(ctx context.Context, wg *sync.WaitGroup) {
	if p.cfg.Wake != nil {
		wg.Go(func() { p.forward(ctx) })
	} else if p.store != nil {
		wg.Go(func() { p.listen(ctx) })
	}
	if p.cfg.Sweep < 0 || p.store == nil {
		return
	}
	wg.Go(func() { p.expire(ctx) })
	wg.Go(func() { p.promote(ctx) })
	wg.Go(func() { p.keepPartitions(ctx) })
	wg.Go(func() { p.forget(ctx) })
	wg.Go(func() { p.retain(ctx) })
	wg.Go(func() { CarryOperations(ctx, p.store, p.id, p.cfg.Log) })
}

// forward passes announcements from outside on.
func (p *Pool) forward(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-p.cfg.Wake:
			if !open {
				return
			}
			p.wake()
		}
	}
}

// wake announces to every queue that a job may have become available.
func (p *Pool) wake() {
	for _, q := range p.queues {
		q.wake()
	}
}

// expire takes permissions away whose deadline has passed. It looks again at
// once after a full batch.
func (p *Pool) expire(ctx context.Context) {
	for {
		start := p.now()
		n, err := p.store.Expire(ctx, sweepBatch, p.cfg.Retry)
		p.swept(ctx, SweepExpire, n, start, err)
		if err != nil && ctx.Err() == nil {
			p.complain("expire", err)
		}
		if n < sweepBatch && !pause(ctx, spread(p.cfg.Sweep)) {
			return
		}
	}
}

// promote makes due jobs available. It sleeps until the next one is due, but
// never longer than a sweep, since an earlier one may be enqueued meanwhile.
func (p *Pool) promote(ctx context.Context) {
	floor := sweepFloor
	for {
		start := p.now()
		n, err := p.store.Promote(ctx, sweepBatch)
		p.swept(ctx, SweepPromote, n, start, err)
		if n == sweepBatch {
			continue
		}
		next := p.cfg.Sweep
		if due, waiting, dueErr := p.store.NextDue(ctx); dueErr == nil && waiting {
			next = due
		} else if err == nil {
			err = dueErr
		}
		if err != nil && ctx.Err() == nil {
			p.complain("promote", err)
		}
		// What is due but was not promoted is held by another session.
		if n == 0 && next <= 0 {
			floor = min(2*floor, p.cfg.Sweep)
		} else {
			floor = sweepFloor
		}
		if !pause(ctx, min(max(next, floor), spread(p.cfg.Sweep))) {
			return
		}
	}
}

// keepPartitions keeps the log's partitions ahead of the days.
func (p *Pool) keepPartitions(ctx context.Context) {
	for {
		start := p.now()
		n, err := p.store.EnsurePartitions(ctx)
		p.swept(ctx, SweepPartitions, n, start, err)
		if err != nil && ctx.Err() == nil {
			p.complain("ensure partitions", err)
		}
		if !pause(ctx, spread(partitionEvery)) {
			return
		}
	}
}

// swept tells the meter of a look, unless the end of the pool cut it short.
func (p *Pool) swept(ctx context.Context, sweep Sweep, n int, start time.Duration, err error) {
	if ctx.Err() == nil {
		p.meter.Swept(sweep, n, p.now()-start, err)
	}
}

// spread shortens a period by up to a tenth, so that processes which started
// together do not stay in step.
func spread(d time.Duration) time.Duration { return d - rand.N(d/10+1) }
