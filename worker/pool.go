package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// verbs is what the pool needs of a [store.Store].
type verbs interface {
	Claim(context.Context, store.ClaimParams) ([]store.Claimed, error)
	ClaimedBy(context.Context, []uuid.UUID) ([]store.Claimed, error)
	Renew(context.Context, string, []store.Renewal) ([]store.Outcome, error)
	Complete(context.Context, string, []store.Completion) ([]store.Outcome, error)
	Fail(context.Context, string, []store.Failure) ([]store.Outcome, error)
	Release(context.Context, string, []store.Released) ([]store.Outcome, error)
}

// Pool runs jobs of the kinds that it handles. It is made by [New], told its
// kinds by [Handle], and run once by [Pool.Run].
type Pool struct {
	cfg   Config
	id    string
	store *store.Store
	verbs verbs
	epoch time.Time
	stats stats
	meter Meter

	mu      sync.Mutex
	started bool
	kinds   map[string]*kind

	// Made by Run.
	leases    []store.KindLease
	shortest  time.Duration
	queues    []*queue
	keeper    *keeper
	completer *completer
	values    context.Context // Run's context without its end: handlers outlive it
	claiming  context.Context // ends soon after stop
	stopping  atomic.Bool
	idled     chan struct{}
	gripes    gripes
}

// New is a pool on a store, which it does not close. Settings that cannot work
// are reported by Run.
func New(st *store.Store, cfg Config) *Pool {
	p := newPool(st, cfg)
	p.store = st
	return p
}

func newPool(v verbs, cfg Config) *Pool {
	cfg = cfg.withDefaults()
	p := &Pool{
		cfg: cfg, id: newID(cfg.Name), verbs: v, epoch: cfg.Clock(), meter: cfg.Meter,
		kinds: make(map[string]*kind), idled: make(chan struct{}, 1),
	}
	p.keeper, p.completer = newKeeper(p), newCompleter(p)
	for name, slots := range cfg.Queues {
		p.queues = append(p.queues, newQueue(p, name, slots))
	}
	return p
}

// ID names this pool in every transition that it causes: the configured name
// and a part that is new with each New.
func (p *Pool) ID() string { return p.id }

// now is the time since the pool was made, on the monotonic clock.
func (p *Pool) now() time.Duration { return p.cfg.Clock().Sub(p.epoch) }

// prepare checks the settings and freezes the kinds.
func (p *Pool) prepare() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return errors.New("worker: Run was called before on this pool")
	}
	if err := p.cfg.check(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if len(p.kinds) == 0 {
		return errors.New("worker: no kind is handled: call worker.Handle before Run")
	}
	p.started = true
	p.shortest = never
	for _, k := range p.kinds {
		p.leases = append(p.leases, store.KindLease{Kind: k.name, Lease: k.lease})
		p.shortest = min(p.shortest, k.lease)
	}
	return nil
}

// Run works until ctx ends and then shuts down: it claims no more, lets running
// handlers finish for [Config.Grace], cancels the rest with [ErrShutdown], and
// stores every outcome that it can. Claims that were not begun are given back
// uncharged, interrupted attempts are given back charged. It returns nil when
// nothing was left behind, an error that matches [ErrUnfinished] when something
// was, and another error, at once, when the settings cannot work. A database
// that is down is not an error: Run waits for it.
func (p *Pool) Run(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return err
	}
	p.values = context.WithoutCancel(ctx)
	lifetime, end := context.WithCancel(p.values)
	defer end()
	claiming, endClaims := context.WithCancel(p.values)
	defer endClaims()
	p.claiming = claiming

	var keeping, sideline, loops sync.WaitGroup
	p.completer.start(lifetime)
	keeping.Go(func() { p.keeper.run(lifetime) })
	p.sideline(ctx, &sideline)
	listed := p.store != nil && p.cfg.Beat > 0
	if listed {
		keeping.Go(func() { p.enlist(lifetime) })
	}
	for _, q := range p.queues {
		loops.Go(func() { q.run(ctx.Done()) })
	}
	p.cfg.Log.Info("pool started", "worker", p.id, "queues", p.cfg.Queues, "kinds", len(p.kinds))
	<-ctx.Done()
	p.stopping.Store(true)
	time.AfterFunc(p.cfg.Wind, endClaims)
	loops.Wait()
	left := p.shutDown(end)
	end()
	keeping.Wait()
	sideline.Wait()
	if listed {
		p.part(left)
	}
	p.cfg.Log.Info("pool stopped", "worker", p.id, "left", left)
	if left > 0 {
		return fmt.Errorf("worker: %d %w", left, ErrUnfinished)
	}
	return nil
}
