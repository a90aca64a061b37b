package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// callTimeout bounds each call of the store that no lease bounds.
const callTimeout = 15 * time.Second

// claim asks for up to n jobs, starts what it gets and returns how many. A
// database that cannot be reached, or refuses, is asked again at growing
// distances until stop is closed.
func (q *queue) claim(stop <-chan struct{}, n int) int {
	for try := 0; ; try++ {
		start, ids := q.pool.now(), newAttemptIDs(n)
		claimed, err := q.ask(ids)
		if err == nil {
			q.start(claimed, start)
			return len(claimed)
		}
		q.pool.complain("claim", err)
		if !isAnswer(err) {
			claimed = q.find(stop, ids, start)
			q.start(claimed, start)
			if len(claimed) > 0 {
				return len(claimed)
			}
		}
		if !wait(stop, backoff(try)) {
			return 0
		}
	}
}

func (q *queue) ask(ids []uuid.UUID) ([]store.Claimed, error) {
	ctx, cancel := context.WithTimeout(q.pool.claiming, callTimeout)
	defer cancel()
	q.pool.stats.claims.Add(1)
	start := q.pool.now()
	q.held = store.Held{}
	claimed, err := q.pool.verbs.Claim(ctx, store.ClaimParams{
		Worker: q.pool.id, Queue: q.name, Kinds: q.pool.leases, AttemptIDs: ids, Held: &q.held,
	})
	q.pool.meter.Asked(q.name, len(claimed), q.pool.now()-start, err)
	return claimed, err
}

// find looks for the claims of a call whose answer was lost, until the shortest
// lease that they could have has passed. Trust counts from that first call.
func (q *queue) find(stop <-chan struct{}, ids []uuid.UUID, start time.Duration) []store.Claimed {
	for try := 0; q.pool.now() < start+q.pool.shortest; try++ {
		if !wait(stop, backoff(try)) {
			return nil
		}
		ctx, cancel := context.WithTimeout(q.pool.claiming, callTimeout)
		claimed, err := q.pool.verbs.ClaimedBy(ctx, ids)
		cancel()
		if err == nil {
			return claimed
		}
		q.pool.complain("claim", err)
	}
	return nil
}

// start begins to keep the claims and runs their handlers.
func (q *queue) start(claimed []store.Claimed, start time.Duration) {
	if len(claimed) == 0 {
		return
	}
	q.pool.stats.claimed.Add(int64(len(claimed)))
	batch := make([]*attempt, len(claimed))
	for i := range claimed {
		batch[i] = newAttempt(q, q.pool.kinds[claimed[i].Kind], claimed[i], start)
		q.pool.meter.Started(q.name, claimed[i].Kind, max(0, claimed[i].ClaimedAt.Sub(claimed[i].RunAt)))
	}
	q.started(len(batch))
	q.pool.keeper.add(batch)
	for _, a := range batch {
		go a.work()
	}
}

// wait pauses, and reports false when stop was closed first.
func wait(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}
