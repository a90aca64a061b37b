package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// breakThings does faults while everybody works, until the goal is reached.
func (p *run) breakThings(ctx context.Context) error {
	busy, enough := context.WithTimeout(ctx, 4*p.scene.Goal.Most)
	defer enough()
	began := time.Now()
	var all sync.WaitGroup
	var cutting error
	all.Go(func() { cutting = p.cutter.run(ctx, busy, fmt.Sprintf("cut-%d", p.stage.Seed)) })
	for i := range 3 {
		all.Go(func() { p.inject(busy, uint64(i)+10, p.scene.Small, 30*time.Millisecond) })
	}
	all.Go(func() { p.inject(busy, 20, p.scene.Faults, p.scene.Gap) })
	certain := make(chan struct{})
	all.Go(func() { defer close(certain); p.once(busy) })
	for tick := 1; busy.Err() == nil; tick++ {
		if tick%200 == 0 {
			p.stage.Log("%s", p.progress(time.Since(began)))
		}
		passed := time.Since(began)
		if passed >= p.scene.Goal.Least && p.reached(p.scene.Goal) {
			<-certain
			break
		}
		if passed >= p.scene.Goal.Most && p.reached(p.scene.Goal.floor()) {
			break
		}
		rest(busy, 50*time.Millisecond)
	}
	enough()
	all.Wait()
	return errors.Join(ctx.Err(), cutting)
}

func (p *run) progress(passed time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s, %s: %d faults, %d stale writes, %d answers lost, %d transitions shown",
		p.scene.Name, passed.Round(time.Second), p.outcome.Total, p.rig.ledger.staleSoFar(), p.cutter.total(), p.watcher.shown())
}

// floor is the least that is worth judging.
func (g Goal) floor() Goal {
	return Goal{Faults: g.Faults / 10, Stale: min(g.Stale, 1), Cuts: min(g.Cuts, 1), Feed: min(g.Feed, 1)}
}

func (p *run) reached(g Goal) bool {
	p.mu.Lock()
	total := p.outcome.Total
	p.mu.Unlock()
	return total >= g.Faults && p.rig.ledger.staleSoFar() >= g.Stale && p.cutter.total() >= g.Cuts && p.watcher.shown() >= g.Feed
}

// inject does one fault after the other. A fault that has begun heals before
// it returns, whatever becomes of busy.
func (p *run) inject(busy context.Context, stream uint64, faults []fault, gap time.Duration) {
	if len(faults) == 0 {
		return
	}
	rng := rand.New(rand.NewPCG(p.stage.Seed, stream))
	for rest(busy, between(rng, gap/2, 3*gap/2)) {
		p.do(busy, draw(rng, faults), rng)
	}
}

// once does what the scene is about.
func (p *run) once(busy context.Context) {
	rng := rand.New(rand.NewPCG(p.stage.Seed, 30))
	for _, f := range p.scene.Once {
		rest(busy, p.scene.Goal.Least/time.Duration(len(p.scene.Once)+1))
		p.do(busy, f, rng)
	}
}

// do does one fault and counts it. The goal may be reached meanwhile; what was
// broken must still come back.
func (p *run) do(busy context.Context, f fault, rng *rand.Rand) {
	if f.server {
		p.server.Lock()
		defer p.server.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(busy), patience)
	defer cancel()
	err := f.do(ctx, p.rig, rng)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.outcome.Faults[f.name]++
		p.outcome.Total++
		return
	}
	p.outcome.Failed[f.name]++
	if p.outcome.Failed[f.name] <= 3 {
		p.stage.Log("%s: not done: %v", f.name, err)
	}
}
