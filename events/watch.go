package events

import (
	"context"
	"slices"

	"github.com/fenceline/fenceline/store"
)

// From says where a subscription begins. Its zero value begins now: nothing
// that commits after Watch was called is missing.
type From struct {
	// Position resumes every job that After does not name: where an earlier
	// [Delivery] or a snapshot's horizon stood. 0 for now.
	Position uint64
	// After resumes a job behind the id of one of its transitions, the last
	// one known; 0 for the job's beginning.
	After map[int64]int64
}

// Watch delivers the transitions of jobs, first what was missed since from,
// then what happens. The first delivery comes at once and may be empty: it
// carries a position. A job that does not exist yet may be watched.
//
// The error is [ErrTooFar] when what was missed cannot be replayed,
// [ErrClosed] when the hub ends, a *[store.InvalidError] for jobs or ids that
// cannot be, and otherwise the database's. The subscription ends with ctx.
func (h *Hub) Watch(ctx context.Context, jobs []int64, from From) (*Subscription, error) {
	jobs, err := h.checked(jobs, from)
	if err != nil {
		return nil, err
	}
	sub := newSubscription(h, jobs)
	heard, err := h.register(sub)
	if err != nil {
		return nil, err
	}
	start, err := h.catchUp(ctx, jobs, from)
	if err != nil {
		h.forget(sub, err)
		return nil, err
	}
	if !h.install(sub, start, heard) {
		return nil, ErrClosed
	}
	go func() {
		defer h.pumps.Done()
		sub.pump(ctx)
	}()
	return sub, nil
}

// checked returns the jobs without repeats, in order.
func (h *Hub) checked(jobs []int64, from From) ([]int64, error) {
	jobs = slices.Clone(jobs)
	slices.Sort(jobs)
	jobs = slices.Compact(jobs)
	switch {
	case len(jobs) == 0:
		return nil, &store.InvalidError{Field: "jobs", Message: "must name at least one job"}
	case len(jobs) > h.cfg.MaxJobs:
		return nil, &store.InvalidError{Field: "jobs", Message: "names too many jobs for one stream"}
	case jobs[0] <= 0:
		return nil, &store.InvalidError{Field: "jobs", Message: "must be positive ids"}
	}
	for _, after := range from.After {
		if after < 0 {
			return nil, &store.InvalidError{Field: "after", Message: "must not be negative"}
		}
	}
	return jobs, nil
}

// register comes before the catch-up read: what commits after that read's
// snapshot is heard after this, and is not thrown away for want of a watcher.
func (h *Hub) register(sub *Subscription) (heard uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
		return 0, ErrClosed
	default:
	}
	h.subs[sub] = struct{}{}
	return h.heard, nil
}

// install makes a subscription that has caught up part of every pass from the
// next one on. If anything was heard since it registered, its jobs are read
// again from their cursors, because that may have been about them.
func (h *Hub) install(sub *Subscription, start start, heard uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subs[sub]; !ok {
		return false
	}
	for job, cur := range start.cursors {
		subs := h.jobs[job]
		if subs == nil {
			subs = map[*Subscription]*cursor{}
			h.jobs[job] = subs
		}
		subs[sub] = cur
		if h.heard != heard {
			h.next.addJob(job)
		}
	}
	if h.heard != heard {
		nudge(h.poke)
	}
	sub.caughtUp, sub.joined, sub.position = true, h.pass, start.position
	sub.push(Delivery{Transitions: start.missed, Position: start.position}, h.cfg.MaxBehind)
	h.pumps.Add(1)
	return true
}

// forget ends a subscription for the reason err.
func (h *Hub) forget(sub *Subscription, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(sub, err)
}

// drop needs the lock.
func (h *Hub) drop(sub *Subscription, err error) {
	sub.end(err)
	if _, ok := h.subs[sub]; !ok {
		return
	}
	delete(h.subs, sub)
	for _, job := range sub.jobs {
		delete(h.jobs[job], sub)
		if len(h.jobs[job]) == 0 {
			delete(h.jobs, job)
		}
	}
	if len(h.subs) == 0 {
		h.next.forget()
	}
}
