package worker

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fenceline/fenceline/store"
)

// queue works one queue: it claims when something may be waiting and a slot is
// free, and never more than it can start at once.
type queue struct {
	pool  *Pool
	name  string
	slots int
	woken chan struct{}
	freed chan struct{}
	held  store.Held    // what kept the last claim from taking more; the claim loop's own
	left  chan struct{} // an outcome is stored while a limit is tight

	mu        sync.Mutex
	running   int  // handlers
	unsettled int  // claims whose outcome is not stored yet
	want      int  // signal freed at this many free slots; 0 for never
	tight     bool // signal left at each settled outcome
}

func newQueue(p *Pool, name string, slots int) *queue {
	return &queue{pool: p, name: name, slots: slots, woken: make(chan struct{}, 1), freed: make(chan struct{}, 1), left: make(chan struct{}, 1)}
}

// wake says that a job may have become available.
func (q *queue) wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// linger is how long a claim waits for a fuller set of free slots while a
// backlog is known: short against any handler that is worth a claim of its own.
const linger = time.Millisecond

// run claims until stop is closed. A claim that was filled is followed by the
// next as soon as there is room; otherwise run waits for an announcement or the
// next poll. After a claim that found nothing, announcements are answered at
// growing distances, up to maxQuiet: thousands a second for other queues must
// not become thousands of empty claims.
func (q *queue) run(stop <-chan struct{}) {
	backlog, quiet := true, time.Duration(0)
	var last time.Time
	for {
		if !backlog && !q.await(stop, time.Until(last.Add(quiet))) {
			return
		}
		n := q.room(stop, backlog)
		if n == 0 {
			return
		}
		last = time.Now()
		got := q.claim(stop, n)
		backlog = got == n
		if q.tighten(got) {
			if !q.awaitPlace(stop) {
				return
			}
			backlog = true
		}
		if got > 0 {
			quiet = 0
		} else {
			quiet = min(max(2*quiet, minQuiet), maxQuiet)
		}
	}
}

// The longest pause between two looks for a place under a limit, whose places
// are given back by other processes too, without an announcement.
const placePause = 100 * time.Millisecond

// tighten reports whether a limit is taken up by the claims of the last round,
// and by others'. From then on the queue's own outcomes are signalled.
func (q *queue) tighten(got int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tight = q.held.Tight(got)
	return q.tight
}

// awaitPlace waits, under a limit that is taken up, for one of this queue's own
// outcomes, for the rate's next claim, or for the next look. It returns false
// when stop is closed.
func (q *queue) awaitPlace(stop <-chan struct{}) bool {
	pause, left := placePause/2+rand.N(placePause/2), q.left
	if q.held.By == store.HeldByRate && q.held.Full {
		pause, left = min(max(q.held.Again, minQuiet), q.pool.cfg.Poll), nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
	case <-left:
	}
	return true
}

const (
	minQuiet = time.Millisecond
	maxQuiet = 25 * time.Millisecond
)

// await waits for an announcement or the next poll, at least for quiet. It
// returns false when stop is closed.
func (q *queue) await(stop <-chan struct{}, quiet time.Duration) bool {
	poll := q.pool.cfg.Poll
	timer := time.NewTimer(poll*4/5 + rand.N(poll*2/5+1))
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-q.woken:
	case <-timer.C:
		return true
	}
	if quiet <= 0 {
		return true
	}
	timer.Reset(quiet)
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// room waits until slots are free and returns how many; 0 when stop is closed.
// With a backlog it lingers for half of them, since handlers that end together
// are better followed by one claim than by many.
func (q *queue) room(stop <-chan struct{}, backlog bool) int {
	if !q.awaitFree(stop, 1, nil) {
		return 0
	}
	if enough := (q.slots + 1) / 2; backlog && q.slots > 1 {
		timer := time.NewTimer(linger)
		defer timer.Stop()
		if !q.awaitFree(stop, enough, timer.C) {
			return 0
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free()
}

// awaitFree waits for n free slots or a timer; false means that stop is closed.
func (q *queue) awaitFree(stop <-chan struct{}, n int, timer <-chan time.Time) bool {
	for {
		q.mu.Lock()
		there := q.free() >= n
		q.want = 0
		if !there {
			q.want = n
		}
		q.mu.Unlock()
		if there {
			select {
			case <-stop:
				return false
			default:
				return true
			}
		}
		select {
		case <-stop:
			return false
		case <-timer:
			return true
		case <-q.freed:
		}
	}
}

// free is how many claims could be started at once. Outcomes that cannot be
// stored fast enough hold claims back too. The caller holds the lock.
func (q *queue) free() int {
	return min(q.slots-q.running, q.slots+max(q.slots, 2*maxBatch)-q.unsettled)
}

func (q *queue) started(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running += n
	q.unsettled += n
}

// finished frees the slot of a handler that has returned.
func (q *queue) finished() { q.change(1, 0) }

// settled says that an outcome is stored, or given up.
func (q *queue) settled() { q.change(0, 1) }

func (q *queue) change(finished, settled int) {
	q.mu.Lock()
	q.running -= finished
	q.unsettled -= settled
	signal := q.want > 0 && q.free() >= q.want
	if signal {
		q.want = 0
	}
	idle, left := q.running == 0, q.tight && settled > 0
	q.mu.Unlock()
	if signal {
		select {
		case q.freed <- struct{}{}:
		default:
		}
	}
	if left {
		select {
		case q.left <- struct{}{}:
		default:
		}
	}
	if idle && finished > 0 {
		q.pool.quiet()
	}
}
