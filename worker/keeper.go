package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fenceline/fenceline/store"
)

const maxRenewals = 500 // members of one batch

// keeper renews the leases of every unsettled attempt and ends the trust in
// those that could not be renewed.
type keeper struct {
	pool    *Pool
	poked   chan struct{}
	flights sync.WaitGroup

	mu   sync.Mutex
	held []*attempt
	next time.Duration // when run looks again
}

func newKeeper(p *Pool) *keeper { return &keeper{pool: p, poked: make(chan struct{}, 1), next: never} }

// add begins to keep attempts.
func (k *keeper) add(batch []*attempt) {
	k.mu.Lock()
	sooner := false
	for _, a := range batch {
		a.place = len(k.held)
		k.held = append(k.held, a)
		sooner = sooner || a.renewAt < k.next
	}
	k.mu.Unlock()
	if sooner {
		k.poke()
	}
}

// remove forgets an attempt whose outcome is settled.
func (k *keeper) remove(a *attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.place < 0 {
		return
	}
	last := k.held[len(k.held)-1]
	k.held[a.place], last.place = last, a.place
	k.held[len(k.held)-1] = nil
	k.held = k.held[:len(k.held)-1]
	a.place = -1
}

// poke makes run look again.
func (k *keeper) poke() {
	select {
	case k.poked <- struct{}{}:
	default:
	}
}

// run keeps leases until ctx ends, and waits for the renewals under way.
func (k *keeper) run(ctx context.Context) {
	defer k.flights.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-k.poked:
		}
		due, next := k.pass(k.pool.now())
		for len(due) > 0 {
			n := min(len(due), maxRenewals)
			batch := due[:n:n]
			due = due[n:]
			k.flights.Go(func() { k.renew(ctx, batch) })
		}
		if next == never {
			timer.Reset(time.Hour)
			continue
		}
		timer.Reset(max(next-k.pool.now(), 0))
	}
}

// pass ends the trust that is over, and reserves what has to be renewed now.
func (k *keeper) pass(now time.Duration) (due []*attempt, next time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next = never
	for _, a := range k.held {
		if !a.lost && !a.trusted(now) {
			k.lose(a, ErrLeaseLost)
			// Once more, so that the timeline shows how it was answered.
			a.renewAt = min(a.renewAt, now)
		}
		if now >= a.bound {
			a.renewAt = never
		}
		if a.renewAt <= now && a.writer.CompareAndSwap(idle, renewing) {
			due = append(due, a)
		} else if a.renewAt > now {
			next = min(next, a.renewAt)
		}
		if !a.lost {
			next = min(next, time.Duration(a.trust.Load()))
		}
	}
	k.next = next
	return due, next
}

// lose cancels an attempt. The caller holds the lock.
func (k *keeper) lose(a *attempt, cause error) {
	a.lost = true
	a.cancel(cause)
	k.pool.stats.lost.Add(1)
	k.pool.meter.Lost(a.queue.name, a.kind.name, cause)
}

// renew offers a batch of renewals and reads the answers.
func (k *keeper) renew(ctx context.Context, batch []*attempt) {
	offers := make([]store.Renewal, len(batch))
	patience := never
	for i, a := range batch {
		offers[i] = store.Renewal{Lease: a.claimed.Lease, For: a.kind.lease}
		patience = min(patience, a.kind.lease/3)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := k.pool.now()
	outcomes, err := k.pool.verbs.Renew(ctx, k.pool.id, offers)
	if err != nil {
		k.pool.complain("renew", err)
	}
	k.mu.Lock()
	for i, a := range batch {
		if err != nil {
			k.postpone(a)
		} else {
			k.answered(a, start, outcomes[i])
		}
		a.writer.Store(idle)
	}
	k.mu.Unlock()
	k.pool.completer.nudge()
	k.poke()
}

// postpone plans the repeat of a renewal that got no answer.
func (k *keeper) postpone(a *attempt) {
	now := k.pool.now()
	pause := min(a.kind.lease/20, time.Second)
	a.renewAt = now + pause/2 + rand.N(pause/2+1)
	if a.hopeless(now) {
		a.renewAt = never
	}
}

// answered applies the database's answer to one renewal. An attempt that lost
// its trust before is not believed in again: its handler was told to stop, and
// it is left the rest of the lease to do so.
func (k *keeper) answered(a *attempt, start time.Duration, out store.Outcome) {
	a.renewAt = never
	left := a.slack(k.pool.now())
	if out.Err == nil {
		if !a.lost {
			a.extend(start)
		}
		k.pool.meter.Renewed(a.queue.name, a.kind.name, left)
		return
	}
	cause, reason := ErrLeaseLost, ""
	var stale *store.StaleError
	if errors.As(out.Err, &stale) {
		reason = string(stale.Reason)
		if stale.Reason == store.ReasonTerminated {
			cause = ErrTerminated
		}
	}
	k.pool.stats.refused.Add(1)
	k.pool.meter.Refused(a.queue.name, a.kind.name, store.OpRenew, store.Reason(reason))
	a.log().Warn("renewal refused", "reason", reason)
	if !a.lost {
		k.lose(a, because(cause, out.Err))
	}
}

// hopeless says that the lease ended so long ago that no repeat can matter.
func (a *attempt) hopeless(now time.Duration) bool {
	return now > time.Duration(a.trust.Load())+a.kind.lease+time.Minute
}
