package proof

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Event is one call of a history, with its answer and when they passed.
type Event struct {
	Client       int
	Call         Call
	Answer       Answer
	Began, Ended time.Duration // since the history began, on this process's clock
}

// never is when a call ends whose answer was lost.
const never = time.Duration(math.MaxInt64)

// History is what happened when a script was played.
type History struct {
	Script Script
	JobID  int64
	Events []Event
	Log    []store.Transition
	Job    store.Job
	Broken []string // what is wrong, each a sentence; empty when all is as it must be

	names names
}

// Play plays the script on a fresh job and judges what came of it. An error
// says that the stage itself failed, not the protocol.
func (s *Stage) Play(ctx context.Context, script Script) (*History, error) {
	r := &recital{subject: &subject{Stage: s, names: newNames()}, script: script, start: time.Now()}
	r.key = fmt.Sprintf("%016x", r.salt)
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	r.perform(ctx)
	h := &History{Script: script, JobID: r.id, Events: r.events, names: r.names}
	if err := r.collect(ctx, h); err != nil {
		return nil, err
	}
	h.judge()
	if h.lost() {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
	} else if h.Job.State.Terminal() && len(h.Broken) == 0 {
		return h, nil
	}
	return h, s.tidy(ctx)
}

// lost reports whether an answer was, so that a call may still be under way.
func (h *History) lost() bool {
	return slices.ContainsFunc(h.Events, func(e Event) bool { return e.Answer.Lost })
}

// recital is a script while it is played.
type recital struct {
	*subject
	script Script
	start  time.Time

	mu      sync.Mutex
	events  []Event
	claims  []Fence // everybody's, in the order in which the answers came
	lost    []Fence // claims whose answer was lost: the generation is not known
	busy    bool    // the newest claim is not known to be over
	offer   Call    // the newest one
	seen    []int64 // revisions that operators saw, oldest first
	attempt int     // the last number given
	results int
}

// ask performs a call and records it.
func (r *recital) ask(ctx context.Context, client int, c Call, step Step) Answer {
	if step.Cut > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, step.Cut)
		defer cancel()
	}
	if c.Verb.offers() {
		r.mu.Lock()
		r.offer = c
		r.mu.Unlock()
	}
	began := time.Since(r.start)
	var a Answer
	if c.Verb == Enqueue {
		a = r.enqueueOnce(ctx, c)
	} else {
		a = r.subject.perform(ctx, c, step.Wait)
	}
	ended := time.Since(r.start)
	if a.Lost {
		ended = never
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, Event{Client: client, Call: c, Answer: a, Began: began, Ended: ended})
	return a
}

// enqueueOnce holds every enqueue of the key against the first: one job.
func (r *recital) enqueueOnce(ctx context.Context, c Call) Answer {
	id, a := r.enqueue(ctx, c)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case id != 0 && r.id == 0:
		r.id = id
	case id != 0 && id != r.id:
		return Answer{Err: fmt.Sprintf("the key leads to job %d and to job %d", r.id, id)}
	}
	return a
}

// open enqueues the job, by several clients at once where the script says so.
func (r *recital) open(ctx context.Context) error {
	var wg sync.WaitGroup
	for client := range r.script.Copies {
		wg.Go(func() { r.ask(ctx, client, r.script.Request, Step{}) })
	}
	wg.Wait()
	if r.id == 0 {
		return errors.New("no enqueue was answered: " + r.events[0].Answer.String())
	}
	r.seen = []int64{1}
	return nil
}

// perform lets all clients loose, and the closer in when they are done.
func (r *recital) perform(ctx context.Context) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for client, steps := range r.script.Clients[:closer] {
		wg.Go(func() {
			<-start
			r.follow(ctx, client, steps)
		})
	}
	close(start)
	wg.Wait()
	r.follow(ctx, closer, r.script.Clients[closer])
}

func (r *recital) follow(ctx context.Context, client int, steps []Step) {
	me := &player{recital: r, client: client, over: true}
	for _, step := range steps {
		me.take(ctx, step)
	}
}

// collect reads the log and the row, of one snapshot where a lost call may
// still be under way.
func (r *recital) collect(ctx context.Context, h *History) error {
	if h.lost() {
		v, err := r.store.JobView(ctx, r.id)
		h.Log, h.Job = v.Transitions, v.Job
		return err
	}
	var err error
	if h.Log, err = r.store.Transitions(ctx, r.id, 0, 10000); err != nil {
		return err
	}
	h.Job, err = r.store.Job(ctx, r.id)
	return err
}
