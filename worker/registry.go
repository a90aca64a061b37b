package worker

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	partingPatience = 2 * time.Second // for saying that the worker ended; the process is on its way out
	forgetEvery     = time.Hour
	forgetBatch     = 1000
)

// enlist writes the pool down as a worker and then tells at each beat that it
// lives, and what it holds, until ctx ends: also while it shuts down. Each beat
// is one statement. Nothing depends on it but what operators see; what they set
// is enforced by the claims.
func (p *Pool) enlist(ctx context.Context) {
	known, draining := false, false
	for try := 0; ; try++ {
		err := p.beat(ctx, &known, &draining)
		if err == nil {
			try = 0
			if !pause(ctx, spread(p.cfg.Beat)) {
				return
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		p.complain("beat", err)
		if !pause(ctx, min(backoff(try), p.cfg.Beat)) {
			return
		}
	}
}

func (p *Pool) beat(ctx context.Context, known, draining *bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if !*known {
		if err := p.store.RegisterWorker(ctx, p.self()); err != nil {
			return err
		}
		*known = true
		return nil
	}
	drain, err := p.store.Beat(ctx, p.id, p.counts())
	if errors.Is(err, store.ErrNoWorker) {
		*known = false
		return p.beat(ctx, known, draining)
	}
	if err == nil && drain != *draining {
		*draining = drain
		if drain {
			p.cfg.Log.Info("drained by an operator: nothing more is claimed", "worker", p.id)
		} else {
			p.cfg.Log.Info("resumed by an operator: jobs are claimed again", "worker", p.id)
		}
	}
	return err
}

// forget removes what is known of workers that ended long ago.
func (p *Pool) forget(ctx context.Context) {
	for pause(ctx, spread(forgetEvery)) {
		if _, err := p.store.ForgetWorkers(ctx, forgetBatch); err != nil && ctx.Err() == nil {
			p.complain("forget workers", err)
		}
	}
}

// part says that the pool has ended and how many attempts it left.
func (p *Pool) part(left int) {
	ctx, cancel := context.WithTimeout(p.values, partingPatience)
	defer cancel()
	how := store.StoppedClean
	if left > 0 {
		how = store.StoppedLeft
	}
	if err := p.store.EndWorker(ctx, p.id, p.counts(), how); err != nil {
		p.complain("tell the end", err)
	}
}

func (p *Pool) self() store.WorkerStart {
	host, _ := os.Hostname()
	w := store.WorkerStart{
		ID: p.id, Host: host, PID: os.Getpid(), Program: filepath.Base(os.Args[0]), Version: p.cfg.Version,
		Queues: p.cfg.Queues, Kinds: p.leases, Beat: p.cfg.Beat,
	}
	if w.Version == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			w.Version = info.Main.Version
		}
	}
	return w
}

func (p *Pool) counts() store.WorkerCounts {
	s := p.Stats()
	return store.WorkerCounts{
		Running: s.Running, Unsettled: clamp(s.Unsettled), Claimed: s.Claimed, Completed: s.Completed,
		Failed: s.Failed, Released: s.Released, Refused: s.Refused, Lost: s.Lost,
	}
}

// clamp keeps a number that is put together from several readings from being
// negative.
func clamp(n int) int { return min(max(n, 0), math.MaxInt32) }
