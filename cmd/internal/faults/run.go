package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// run is a scene being played.
type run struct {
	stage   *Stage
	scene   Scene
	rig     *Rig
	outcome *Outcome
	cutter  *cutter
	watcher *watcher

	mu     sync.Mutex // of the outcome's counts
	server sync.Mutex // held during a fault of the whole database
}

func (p *run) play(ctx context.Context) error {
	if err := p.populate(); err != nil {
		return err
	}
	var err error
	if p.cutter, err = newCutter(ctx, p.rig); err != nil {
		return err
	}
	if p.watcher, err = newWatcher(ctx, p.rig); err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stopWatching()
	watches.Go(func() { p.watcher.run(watching) })

	if err := p.breakThings(ctx); err != nil {
		return err
	}
	calm := time.Now()
	if err := p.drain(ctx); err != nil {
		return err
	}
	p.outcome.Drained = time.Since(calm).Seconds()
	missed, err := p.watcher.missed(ctx)
	if err != nil {
		return err
	}
	return p.verdict(ctx, missed)
}

// populate starts the processes.
func (p *run) populate() error {
	seed := p.stage.Seed
	for _, group := range []struct {
		role role
		n    int
	}{
		{role{Play: playWorker}, workers},
		{role{Play: playProducer, Pace: 4 * time.Millisecond}, producers},
		{role{Play: playOperator}, operators},
		{role{Play: playAbsentee}, 1},
	} {
		for i := range group.n {
			of := group.role
			seed++
			of.Name, of.Seed, of.Lease = fmt.Sprintf("%s-%d", of.Play, i+1), seed, lease
			if _, err := p.rig.join(of); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain lets everything heal and every job come to its end.
func (p *run) drain(ctx context.Context) error {
	for _, play := range []string{playProducer, playOperator, playAbsentee} {
		for _, m := range p.rig.of(play) {
			if !m.finish(patience) {
				return fmt.Errorf("%s did not end what it had begun", m.role.Name)
			}
		}
	}
	if err := p.cutter.retireAll(ctx); err != nil {
		return err
	}
	// What has not ended by then is lost, and the judge says so.
	const left = `select count(*) = 0 from fenceline.jobs where state not in ('completed', 'discarded', 'terminated')`
	unfinished := await(ctx, "every job has ended", func() (ended bool, err error) {
		return ended, p.rig.ask(ctx, left, &ended)
	})
	if unfinished != nil {
		p.stage.Log("%s: %v", p.scene.Name, unfinished)
	}
	for _, m := range p.rig.of(playWorker) {
		if !m.finish(patience) {
			return fmt.Errorf("%s did not shut down", m.role.Name)
		}
	}
	return ctx.Err()
}

func (p *run) verdict(ctx context.Context, missed int) error {
	v, err := p.rig.judge(ctx)
	if err != nil {
		return err
	}
	c, w := p.cutter, p.watcher
	c.mu.Lock()
	v.Cuts, v.CutsRight = c.cuts, c.right
	for _, n := range c.cuts {
		v.CutsTotal += n
	}
	cutWrongs := slices.Clone(c.wrongs)
	c.mu.Unlock()
	w.mu.Lock()
	v.Shown, v.Missed, v.Twice, v.Resumed = w.total, missed, w.doubled, w.resumed
	problems := slices.Clone(w.problems)
	w.mu.Unlock()
	for _, text := range append(cutWrongs, problems...) {
		v.wrong("%s", text)
	}
	p.outcome.Verdict = v
	return nil
}
