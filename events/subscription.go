package events

import (
	"context"
	"sync"

	"github.com/fenceline/fenceline/store"
)

// Delivery is what a subscription receives at once.
type Delivery struct {
	// Transitions are new to this subscription, each job's in its own order.
	// They may be shared with other subscriptions: read only. Empty when only
	// the position moved.
	Transitions []store.Transition
	// Position is where a reader that has handled this delivery can resume:
	// nothing in a transaction below it will be missing. It never goes back.
	// It trails the transitions, so a resume may repeat some of them.
	Position uint64
}

// Subscription delivers the transitions of some jobs.
type Subscription struct {
	// C delivers until the subscription ends, then it is closed.
	C <-chan Delivery

	hub  *Hub
	jobs []int64
	out  chan Delivery
	wake chan struct{}
	over chan struct{} // closed when the subscription has ended
	done chan struct{} // closed when C is

	mu     sync.Mutex
	queue  []Delivery
	queued int // transitions in queue
	ended  bool
	err    error

	// Under the hub's lock.
	caughtUp bool
	joined   uint64 // the latest pass when it caught up
	position uint64
}

func newSubscription(h *Hub, jobs []int64) *Subscription {
	out := make(chan Delivery)
	return &Subscription{
		C: out, hub: h, jobs: jobs, out: out,
		wake: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{}),
	}
}

// Err says why C was closed: [ErrSlow], [ErrTooFar], [ErrClosed], or the error
// of the context that Watch was given. It is nil while C is open and after
// [Subscription.Close].
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the subscription and returns when C is closed. What was not
// received is dropped. Repeats do nothing.
func (s *Subscription) Close() {
	s.hub.forget(s, nil)
	<-s.done
}

// push queues a delivery, or reports false when it would exceed limit
// transitions. It never waits. An empty queue takes any delivery, so a reader
// that keeps up is never cut for the size of one read.
func (s *Subscription) push(d Delivery, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return true
	}
	if n := len(s.queue); n > 0 && len(d.Transitions) == 0 {
		s.queue[n-1].Position = d.Position
		return true
	}
	if s.queued > 0 && s.queued+len(d.Transitions) > limit {
		return false
	}
	s.queue = append(s.queue, d)
	s.queued += len(d.Transitions)
	nudge(s.wake)
	return true
}

func (s *Subscription) pop() (Delivery, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Delivery{}, false
	}
	d := s.queue[0]
	s.queue[0] = Delivery{}
	s.queue = s.queue[1:]
	s.queued -= len(d.Transitions)
	return d, true
}

// end drops what is queued at once: a reader that was cut must not hold memory.
func (s *Subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.err = true, err
	s.queue, s.queued = nil, 0
	close(s.over)
}

// pump moves deliveries from the queue to C until the subscription ends.
func (s *Subscription) pump(ctx context.Context) {
	defer close(s.done)
	defer close(s.out)
	for {
		d, ok := s.pop()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.over:
			case <-ctx.Done():
				s.hub.forget(s, ctx.Err())
			}
			return
		}
		select {
		case s.out <- d:
		case <-s.over:
			return
		case <-ctx.Done():
			s.hub.forget(s, ctx.Err())
			return
		}
	}
}
