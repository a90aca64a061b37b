package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
)

// completer offers the outcomes of attempts in batches, a lane for each verb.
type completer struct {
	pool        *Pool
	completions *lane[store.Completion]
	failures    *lane[store.Failure]
	releases    *lane[store.Released]
	flights     sync.WaitGroup
}

func newCompleter(p *Pool) *completer {
	c := &completer{pool: p}
	c.completions = newLane(p, "complete", p.verbs.Complete)
	c.failures = newLane(p, "fail", p.verbs.Fail)
	c.releases = newLane(p, "release", p.verbs.Release)
	c.completions.settle = c.completed
	c.completions.refuse = c.unstorable
	c.failures.settle = func(a *attempt, f store.Failure, out store.Outcome) {
		class := f.Error.Class
		if p.store != nil {
			class = p.store.ErrorClass(a.claimed.Kind, a.claimed.Args, class)
		}
		c.settled(a, &p.stats.failed, EndedFailed, class, out)
	}
	c.releases.settle = func(a *attempt, r store.Released, out store.Outcome) {
		c.settled(a, &p.stats.released, EndedReleased, "", out)
	}
	return c
}

// start runs the lanes until drain, or until ctx ends.
func (c *completer) start(ctx context.Context) {
	c.completions.start(ctx, &c.flights, 2)
	c.failures.start(ctx, &c.flights, 1)
	c.releases.start(ctx, &c.flights, 1)
}

// drain offers what is still waiting and returns when all of it is settled or
// given up. Completions go first because they can turn into failures.
func (c *completer) drain() {
	c.completions.close()
	c.failures.close()
	c.releases.close()
	c.flights.Wait()
}

// nudge makes the lanes look again at attempts that were being renewed.
func (c *completer) nudge() {
	c.completions.nudge()
	c.failures.nudge()
	c.releases.nudge()
}

func (c *completer) complete(a *attempt, result json.RawMessage) {
	followUps, output := a.kept()
	c.completions.add(a, store.Completion{Lease: a.claimed.Lease, Result: result, FollowUps: followUps, Output: output})
}

func (c *completer) fail(a *attempt, f store.Failure) { c.failures.add(a, f) }

func (c *completer) release(a *attempt, started bool) {
	c.releases.add(a, store.Released{Lease: a.claimed.Lease, Started: started})
}

// completed settles a completion, unless the store found that the result cannot
// be kept: then the attempt failed, for good.
func (c *completer) completed(a *attempt, _ store.Completion, out store.Outcome) {
	var invalid *store.InvalidError
	if errors.As(out.Err, &invalid) {
		a.writer.Store(idle)
		a.failUnstorable(invalid)
		return
	}
	c.settled(a, &c.pool.stats.completed, EndedCompleted, "", out)
}

// unstorable takes a completion that the database itself could not store, and
// reports whether it has dealt with it. It is the net below [store.CheckJSON].
func (c *completer) unstorable(a *attempt, err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || len(refused.Code) != 5 || (refused.Code[:2] != "22" && refused.Code[:2] != "54") {
		return false
	}
	a.writer.Store(idle)
	a.failUnstorable(fmt.Errorf("the database cannot store the result (SQLSTATE %s)", refused.Code))
	return true
}

// settled ends this process's part in an attempt.
func (c *completer) settled(a *attempt, count *counter, how Ending, reason string, out store.Outcome) {
	var stale *store.StaleError
	switch {
	case out.Err == nil:
		count.Add(1)
	case errors.As(out.Err, &stale):
		how, reason = EndedRefused, string(stale.Reason)
		c.pool.stats.refused.Add(1)
		c.pool.meter.Refused(a.queue.name, a.kind.name, stale.Op, stale.Reason)
		a.log().Warn(string(stale.Op)+" refused", "reason", string(stale.Reason), "current", stale.Current)
	default:
		how, reason = EndedAbandoned, "refused"
		a.log().Error("outcome refused", "reason", out.Err.Error())
	}
	c.forget(a, how, reason)
}

// abandoned ends this process's part in an attempt whose outcome could not be
// offered. Its lease expires by itself.
func (c *completer) abandoned(a *attempt) {
	c.pool.stats.abandoned.Add(1)
	c.forget(a, EndedAbandoned, "abandoned")
}

func (c *completer) forget(a *attempt, how Ending, reason string) {
	a.traced(how, reason)
	c.pool.meter.Ended(a.queue.name, a.kind.name, how, c.pool.now()-a.began)
	c.pool.keeper.remove(a)
	a.queue.settled()
}
