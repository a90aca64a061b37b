package worker

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// Meter is told what a pool does, as it happens: package worker/metrics is one
// for Prometheus. Its methods are called by the pool's own goroutines, several
// at once, so they return at once and never call the pool. Kinds and queues are
// those that the pool was told of; nothing else of a job is handed out.
type Meter interface {
	// Asked follows each call for jobs: how many came of it, and how long it took.
	Asked(queue string, claimed int, took time.Duration, err error)
	// Started follows each claim. Waited counts from when the job was due to the
	// claim, on the database's clock; never negative.
	Started(queue, kind string, waited time.Duration)
	// Ended follows each outcome that is settled: completed, failed, released,
	// refused or abandoned. Took counts from the claim.
	Ended(queue, kind string, how Ending, took time.Duration)
	// Refused follows each write that the store refused as stale.
	Refused(queue, kind string, op store.Op, reason store.Reason)
	// Renewed follows each renewal that was accepted. Slack is the part of the
	// trusted time that was left when the answer came: from 1 down to 0, and
	// below it when trust had ended.
	Renewed(queue, kind string, slack float64)
	// Lost follows each attempt that was told to stop, because its lease was
	// lost (ErrLeaseLost) or an operator ended its job (ErrTerminated).
	Lost(queue, kind string, cause error)
	// Swept follows each look for expired leases, due jobs and missing partitions.
	Swept(sweep Sweep, n int, took time.Duration, err error)
	// Listening tells that the pool's own listener has a connection now (again),
	// or lost it. It is not called when [Config.Wake] is set.
	Listening(connected bool)
	// Complained follows each call of the store that failed and is repeated.
	Complained(verb string)
}

// Ending is how an attempt's part in a process ended.
type Ending string

// The endings of an attempt.
const (
	EndedCompleted Ending = "completed"
	EndedFailed    Ending = "failed"
	EndedReleased  Ending = "released"
	EndedRefused   Ending = "refused"   // its last write was refused
	EndedAbandoned Ending = "abandoned" // its outcome could not be offered
)

// Sweep names what a sweeper looks for.
type Sweep string

// What sweepers look for.
const (
	SweepExpire     Sweep = "expire"
	SweepPromote    Sweep = "promote"
	SweepPartitions Sweep = "partitions"
)

// silent is the meter of a pool that has none.
type silent struct{}

func (silent) Asked(string, int, time.Duration, error)        {}
func (silent) Started(string, string, time.Duration)          {}
func (silent) Ended(string, string, Ending, time.Duration)    {}
func (silent) Refused(string, string, store.Op, store.Reason) {}
func (silent) Renewed(string, string, float64)                {}
func (silent) Lost(string, string, error)                     {}
func (silent) Swept(Sweep, int, time.Duration, error)         {}
func (silent) Listening(bool)                                 {}
func (silent) Complained(string)                              {}

// QueueStats is how a queue stands in this process now.
type QueueStats struct {
	Queue     string
	Slots     int
	Running   int // handlers
	Unsettled int // attempts whose outcome is not stored, running ones included
}

// Queues tells how each queue of the pool stands. It may be called at any time.
func (p *Pool) Queues() []QueueStats {
	all := make([]QueueStats, len(p.queues))
	for i, q := range p.queues {
		q.mu.Lock()
		all[i] = QueueStats{q.name, q.slots, q.running, q.unsettled}
		q.mu.Unlock()
	}
	return all
}

// slack is the part of the trusted time that is left of a renewal whose call
// began at start.
func (a *attempt) slack(now time.Duration) float64 {
	trusted := a.kind.lease - margin(a.kind.lease)
	return float64(time.Duration(a.trust.Load())-now) / float64(trusted)
}
