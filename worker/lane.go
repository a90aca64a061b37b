package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	maxBatch   = 1000 // members of one batch
	maxRepeats = 8    // batches of one lane that are being repeated at once

	// After a batch of this size a lane gathers for a moment: under load fewer,
	// larger batches cost the database less.
	busyBatch = 64
	gather    = 2 * time.Millisecond
)

type entry[M any] struct {
	held   *attempt
	member M
}

// lane collects the members of one verb and offers them in batches. An idle
// lane offers at once; while a batch is under way the next one grows.
type lane[M any] struct {
	pool   *Pool
	verb   string
	send   func(context.Context, string, []M) ([]store.Outcome, error)
	settle func(*attempt, M, store.Outcome)
	refuse func(*attempt, error) bool // takes a lone member that the database cannot store; may be nil

	repeats chan struct{} // a place for each batch that is being repeated

	mu      sync.Mutex
	changed *sync.Cond
	waiting []entry[M]
	closed  bool
	flights int // loops that still run
}

func newLane[M any](p *Pool, verb string, send func(context.Context, string, []M) ([]store.Outcome, error)) *lane[M] {
	l := &lane[M]{pool: p, verb: verb, send: send, repeats: make(chan struct{}, maxRepeats)}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// add takes a member. Once the lane is closed nobody would offer it any more.
func (l *lane[M]) add(a *attempt, member M) {
	l.mu.Lock()
	closed := l.closed && l.flights == 0
	if !closed {
		l.waiting = append(l.waiting, entry[M]{a, member})
		l.changed.Signal()
	}
	l.mu.Unlock()
	if closed {
		l.pool.completer.abandoned(a)
	}
}

func (l *lane[M]) nudge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}

// start runs n loops, each with one batch under way.
func (l *lane[M]) start(ctx context.Context, wg *sync.WaitGroup, n int) {
	l.flights = n
	for range n {
		wg.Go(func() { l.run(ctx, wg) })
	}
}

// close lets the loops end when nothing waits any more, and waits for them.
func (l *lane[M]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	for l.flights > 0 || len(l.repeats) > 0 {
		l.changed.Wait()
	}
}

func (l *lane[M]) run(ctx context.Context, wg *sync.WaitGroup) {
	busy := false
	for {
		if busy {
			time.Sleep(gather)
		}
		batch := l.take()
		busy = len(batch) >= busyBatch
		if batch == nil {
			return
		}
		if err := l.offer(ctx, batch); err != nil {
			l.repeats <- struct{}{}
			wg.Go(func() {
				l.persist(ctx, batch, err)
				<-l.repeats
				l.nudge()
			})
		}
	}
}

// take waits for members and reserves up to a batch of them. Those that are
// being renewed are left for later. It returns nil when the lane is closed and
// empty.
func (l *lane[M]) take() []entry[M] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if batch := l.pick(); len(batch) > 0 {
			return batch
		}
		if l.closed && len(l.waiting) == 0 {
			l.flights--
			l.changed.Broadcast()
			return nil
		}
		l.changed.Wait()
		// Handlers that were started together and do little end together: those
		// that can end now are let first, so that one batch takes them all.
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
}

func (l *lane[M]) pick() []entry[M] {
	batch := make([]entry[M], 0, min(len(l.waiting), maxBatch))
	rest := l.waiting[:0]
	for i, e := range l.waiting {
		if len(batch) == maxBatch {
			rest = append(rest, l.waiting[i:]...)
			break
		}
		if e.held.begin() {
			batch = append(batch, e)
		} else {
			rest = append(rest, e)
		}
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
	return batch
}

// offer sends a batch once and settles it when there is an answer.
func (l *lane[M]) offer(ctx context.Context, batch []entry[M]) error {
	members := make([]M, len(batch))
	for i, e := range batch {
		members[i] = e.member
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	outcomes, err := l.send(ctx, l.pool.id, members)
	if err != nil {
		return err
	}
	for i, e := range batch {
		l.settle(e.held, e.member, outcomes[i])
	}
	return nil
}
