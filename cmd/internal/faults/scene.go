package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

// Goal is how far a scene goes: until each count is reached and Least has
// passed, or Most has and there is something of everything to judge: a tenth of
// the faults and one of each other count. A machine that cannot do even that
// gets four times as long. What was not reached is in the outcome for all to
// see.
type Goal struct {
	Faults, Stale, Cuts, Feed int
	Least, Most               time.Duration
}

// Scene is a plan for one rig.
type Scene struct {
	Name   string
	Goal   Goal
	Faults []fault       // of the whole database
	Small  []fault       // of single processes and their connections
	Gap    time.Duration // between two faults of the whole database
	Once   []fault       // done in this order, spread over the scene, whatever the goal

	setting map[string]string
	env     []string
	mode    string // of the processes' queries; see rigConfig
	rewrite func(string) string
	place   func(dir string) (undo func() error, err error) // prepares the rig's directory
	around  func(ctx context.Context, r *Rig) error         // stands between server and processes
	lacking func(ctx context.Context) string                // why the scene cannot be played here; nil for always
}

// Outcome is what a scene came to.
type Outcome struct {
	Scene    string         `json:"scene"`
	Seed     uint64         `json:"seed"`
	Lacking  string         `json:"not_run,omitempty"` // why it was not played
	Faults   map[string]int `json:"faults,omitempty"`
	Total    int            `json:"faults_total"`
	Failed   map[string]int `json:"faults_not_done,omitempty"` // those that could not be done, not counted above
	Verdict  *verdict       `json:"verdict,omitempty"`
	Seconds  float64        `json:"seconds"`
	Drained  float64        `json:"drained_seconds"` // how long the rest of the work took, once nothing was broken any more
	Postgres string         `json:"postgres,omitempty"`
}

// Violations is how much of what must not be was found.
func (o *Outcome) Violations() int {
	if o.Verdict == nil {
		return 0
	}
	return o.Verdict.violations()
}

// Stage is where scenes are played.
type Stage struct {
	Program []string // this program and its arguments before a role is played
	Seed    uint64
	Log     func(format string, args ...any)
}

const (
	workers   = 3
	producers = 1
	operators = 1
)

// Play plays a scene. An error says that the scene itself failed, not that it
// found something.
func (s *Stage) Play(ctx context.Context, scene Scene) (_ *Outcome, err error) {
	o := &Outcome{Scene: scene.Name, Seed: s.Seed, Faults: map[string]int{}, Failed: map[string]int{}}
	if scene.lacking != nil {
		if o.Lacking = scene.lacking(ctx); o.Lacking != "" {
			return o, nil
		}
	}
	began := time.Now()
	dir, err := os.MkdirTemp("", "fenceline-faults-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil && o.Violations() == 0 || scene.rewrite != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		} else {
			s.Log("%s: the logs are in %s", scene.Name, dir)
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if scene.place != nil {
		undo, err := scene.place(dir)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	r, err := newRig(ctx, rigConfig{dir: dir, program: s.Program, rewrite: scene.rewrite, mode: scene.mode, settings: scene.setting, env: scene.env})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.ask(ctx, "select current_setting('server_version')", &o.Postgres); err != nil {
		return nil, err
	}
	if scene.around != nil {
		if err := scene.around(ctx, r); err != nil {
			return nil, err
		}
	}
	err = (&run{stage: s, scene: scene, rig: r, outcome: o}).play(ctx)
	o.Seconds = time.Since(began).Seconds()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", scene.Name, err)
	}
	return o, nil
}

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
