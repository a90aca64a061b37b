package drill

import (
	"context"
	"sync"
)

// Starter runs at most one drill at a time beside something else.
type Starter struct {
	cfg  Config
	life context.Context // of every drill

	mu      sync.Mutex
	current *Drill
	running sync.WaitGroup
}

// NewStarter is a starter whose drills end, unfinished, when life does.
func NewStarter(life context.Context, cfg Config) *Starter {
	return &Starter{cfg: cfg.withDefaults(), life: life}
}

// Start begins a drill and returns its job without waiting for the end. While
// one runs it begins no other and returns that one's job with running true. The
// drill outlives ctx. actor is who starts it.
func (s *Starter) Start(ctx context.Context, actor string) (job int64, running bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return s.current.Job, true, nil
	}
	if err := s.life.Err(); err != nil {
		return 0, false, context.Cause(s.life)
	}
	cfg := s.cfg
	cfg.Actor = actor
	d, err := Begin(ctx, cfg)
	if err != nil {
		return 0, false, err
	}
	s.current = d
	s.running.Go(func() { s.run(d) })
	return d.Job, false, nil
}

func (s *Starter) run(d *Drill) {
	err := d.Run(s.life, func(Step) {})
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
	switch {
	case err == nil:
		s.cfg.Log.Info("drill passed", "job", d.Job)
	case s.life.Err() == nil:
		s.cfg.Log.Error("drill failed", "job", d.Job, "error", err)
	}
}

// Wait returns when the drill that runs has ended. Call it when no more can be
// started.
func (s *Starter) Wait() { s.running.Wait() }
