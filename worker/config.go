package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Config says how a [Pool] runs. The zero value is a usable one.
type Config struct {
	// Queues names the queues to work and how many jobs of each may run at once.
	// Nil means ten of the default queue.
	Queues map[string]int
	// Name is the readable part of the worker's id; empty means the host's name.
	// It need not be unique: the id ends in a part that is new at each start.
	Name string
	// Log receives what an operator of the process should know; nil means
	// [slog.Default]. It never receives args, results or errors of handlers.
	Log *slog.Logger
	// Meter is told what the pool does; nil means that nobody counts.
	Meter Meter
	// Tracer is told of attempts; nil means that there are no spans.
	Tracer Tracer
	// Lease is the length of the leases of kinds that name none; 0 means 30 s.
	Lease time.Duration
	// Retry is the backoff of kinds that name none, and of expired attempts; the
	// zero value means [store.DefaultBackoff].
	Retry store.Backoff
	// Grace is how long running handlers may go on once Run's context has ended;
	// 0 means 20 s. Then their contexts are cancelled with [ErrShutdown].
	Grace time.Duration
	// Wind is how long cancelled handlers are waited for, and how long results
	// may take to be stored, at the end of a shutdown; 0 means 5 s for each.
	Wind time.Duration
	// Poll is the pause between claims while nothing is announced, give or take
	// a fifth; 0 means 1 s. A notification ends the pause at once.
	Poll time.Duration
	// Sweep is the longest pause between two looks for expired leases and due
	// jobs; 0 means 1 s, negative means that this process never looks.
	Sweep time.Duration
	// KeepJobs is how long a finished job stays, at least [store.MinKeepJobs];
	// 0 means [DefaultKeep], negative that this process removes none. Of several
	// processes that sweep, the shortest time holds.
	KeepJobs time.Duration
	// KeepTransitions is how long the log stays, at least
	// [store.MinKeepTransitions], rounded up to whole days; 0 means [DefaultKeep],
	// negative that this process removes nothing of it. A job that stays longer
	// keeps its state and its last attempt.
	KeepTransitions time.Duration
	// Beat is how often the pool tells in the list of workers that it lives, give
	// or take a tenth; 0 means 10 s, negative that it is not on the list. One
	// that is silent for three beats is shown as lost, which decides nothing.
	Beat time.Duration
	// Version is shown in the list of workers; empty means that of the program's
	// main module.
	Version string
	// Wake, when set, replaces the pool's own listener: each receive means that
	// some job may have become available. The pool never closes it.
	Wake <-chan struct{}
	// Clock, when set, replaces [time.Now]: for tests and drills of clocks that
	// are wrong or jump. Only differences between its readings are used; it is
	// never compared with the database's, and no setting of it makes a stale
	// write acceptable.
	Clock func() time.Time
}

const (
	minLease = 100 * time.Millisecond
	maxLease = 24 * time.Hour
	maxSlots = 100_000
)

// DefaultKeep is for how long finished jobs and the log stay unless a [Config]
// says otherwise.
const DefaultKeep = 30 * 24 * time.Hour

func (c Config) withDefaults() Config {
	if c.Queues == nil {
		c.Queues = map[string]int{store.DefaultQueue: 10}
	}
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Meter == nil {
		c.Meter = silent{}
	}
	if c.Tracer == nil {
		c.Tracer = untraced{}
	}
	if c.Retry == (store.Backoff{}) {
		c.Retry = store.DefaultBackoff
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.Lease, 30 * time.Second}, {&c.Grace, 20 * time.Second}, {&c.Wind, 5 * time.Second},
		{&c.Poll, time.Second}, {&c.Sweep, time.Second}, {&c.Beat, 10 * time.Second},
		{&c.KeepJobs, DefaultKeep}, {&c.KeepTransitions, DefaultKeep},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

// check reports every setting that cannot work, each by its name.
func (c Config) check() error {
	var errs []error
	if len(c.Queues) == 0 {
		errs = append(errs, errors.New("Queues: names no queue"))
	}
	for name, slots := range c.Queues {
		if name == "" || len(name) > store.MaxQueue {
			errs = append(errs, fmt.Errorf("Queues: the name %q must have 1 to %d bytes", name, store.MaxQueue))
		}
		if slots < 1 || slots > maxSlots {
			errs = append(errs, fmt.Errorf("Queues[%q]: %d slots; must be between 1 and %d", name, slots, maxSlots))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Grace", c.Grace}, {"Wind", c.Wind}, {"Poll", c.Poll}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s: %s is negative", d.name, d.value))
		}
	}
	for _, d := range []struct {
		name         string
		value, least time.Duration
	}{{"KeepJobs", c.KeepJobs, store.MinKeepJobs}, {"KeepTransitions", c.KeepTransitions, store.MinKeepTransitions}} {
		if d.value >= 0 && d.value < d.least {
			errs = append(errs, fmt.Errorf("%s: %s is less than %s", d.name, d.value, d.least))
		}
	}
	return errors.Join(append(errs, checkLease("Lease", c.Lease), checkBackoff("Retry", c.Retry))...)
}

func checkLease(name string, d time.Duration) error {
	if d < minLease || d > maxLease {
		return fmt.Errorf("%s: %s must be between %s and %s", name, d, minLease, maxLease)
	}
	return nil
}

func checkBackoff(name string, b store.Backoff) error {
	if b.Base <= 0 || b.Cap < b.Base {
		return fmt.Errorf("%s: base %s and cap %s must be positive, and the cap not below the base", name, b.Base, b.Cap)
	}
	return nil
}
