package proof

import (
	"slices"

	"github.com/fenceline/fenceline/store"
)

// Fence is what a write of an attempt is decided by. Attempts are numbered in
// the order in which the driver made them; 0 is none.
type Fence struct {
	Attempt    int
	Generation int64
}

// Clock says how a time that the row holds stands to the database's clock.
type Clock int

// The three things that can be known of a time without reading the clock.
const (
	Ahead   Clock = iota // it will not come by itself while a history lasts
	Ticking              // it may have come, and nobody has seen that yet
	Passed
)

// Claim is one generation: who made it and how it ended.
type Claim struct {
	Attempt int
	End     store.End // empty while it runs
}

// State is everything about one job that the protocol speaks of. The zero
// State is a job that was never enqueued. Its methods are the specification:
// each returns what may come of a call and changes nothing.
type State struct {
	State    store.State
	Revision int64
	Used     int // charged claims
	Budget   int

	Claims []Claim // Claims[g-1] is generation g
	Lease  Clock   // of the running attempt
	Due    Clock   // of a scheduled or retryable job

	Result    string // the accepted one
	ResultBy  Fence
	FollowUps int // written so far: the first so many names

	Log     int // transitions on record
	Refused int // of them, refused writes
	Audited int // operators' actions on record
	Errors  int // attempts' errors kept
}

// Outcome is one thing that may come of a call.
type Outcome struct {
	After  State
	Answer Answer
}

// After returns what may come of the call, what acts before what does not.
// There is a choice only where the protocol leaves one: a ticking lease, and
// verbs that step over a row which somebody else holds.
func (s State) After(c Call) []Outcome {
	switch c.Verb {
	case Enqueue:
		return s.enqueue(c)
	case ClaimJob:
		return s.claim(c)
	case Renew, Complete, Fail, Release:
		return s.offered(c)
	case Expire:
		return s.expire(c)
	case Promote:
		return s.promote(c)
	case Requeue, Terminate:
		return s.operate(c)
	case Lapse:
		return s.lapse()
	case ComeDue:
		return s.comeDue()
	case Hold:
		return s.hold()
	case Find:
		return s.find(c)
	case Look:
		return one(s, Answer{Row: s.row(), Left: s.left()})
	}
	return one(s, Answer{Row: s.row()}) // Read
}

func one(s State, a Answer) []Outcome { return []Outcome{{s, a}} }

// change is the mark that every accepted verb but a renewal leaves.
func (s State) change(to store.State) State {
	s.State = to
	s.Revision++
	s.Log++
	return s
}

// ended ends the current attempt.
func (s State) ended(how store.End) State {
	s.Claims = slices.Clone(s.Claims)
	s.Claims[len(s.Claims)-1].End = how
	s.Lease = Ahead
	return s
}

// waits is the change to a state that waits for its due time.
func (s State) waits(to store.State, due Clock) State {
	s.Due = Ahead
	if to == store.Retryable || to == store.Scheduled {
		s.Due = due
	}
	return s.change(to)
}

func (s State) generation() int64 { return int64(len(s.Claims)) }

func (s State) current() Claim {
	if len(s.Claims) == 0 {
		return Claim{}
	}
	return s.Claims[len(s.Claims)-1]
}

// times splits a ticking lease into its two possibilities.
func (s State) times() []State {
	if s.State != store.Running || s.Lease != Ticking {
		return []State{s}
	}
	passed := s
	passed.Lease = Passed
	return []State{s, passed}
}

// enqueue: unique by key. The same request finds its job, another is refused.
func (s State) enqueue(c Call) []Outcome {
	switch {
	case s.State != "" && c.Other:
		return one(s, Answer{Verdict: Conflict})
	case s.State != "":
		return one(s, Answer{Verdict: Repeated})
	}
	s.Budget = c.Budget
	if c.Later {
		return one(s.waits(store.Scheduled, Ahead), Answer{Verdict: Accepted})
	}
	return one(s.change(store.Available), Answer{Verdict: Accepted})
}

// claim: available jobs only. It raises the generation by one and charges one
// attempt. A row that somebody holds is stepped over.
func (s State) claim(c Call) []Outcome {
	nothing := Outcome{s, Answer{}}
	if s.State != store.Available {
		return []Outcome{nothing}
	}
	next := s.change(store.Running)
	next.Claims = append(slices.Clone(s.Claims), Claim{Attempt: c.By.Attempt})
	next.Used++
	next.Lease = c.lease()
	claimed := Outcome{next, Answer{Verdict: Accepted, Generation: next.generation(), Used: next.Used, Budget: next.Budget}}
	if c.Alone {
		return []Outcome{claimed}
	}
	return []Outcome{claimed, nothing}
}

// find: which job this attempt holds.
func (s State) find(c Call) []Outcome {
	if s.State != store.Running || s.current().Attempt != c.By.Attempt {
		return one(s, Answer{})
	}
	return one(s, Answer{Verdict: Accepted, Generation: s.generation(), Used: s.Used, Budget: s.Budget})
}

// offered is a write of an attempt.
func (s State) offered(c Call) []Outcome {
	var out []Outcome
	for _, t := range s.times() {
		out = append(out, t.offer(c))
	}
	return out
}

func (s State) offer(c Call) Outcome {
	verdict := s.verdict(c.Verb, c.By)
	switch verdict {
	case Accepted:
		next, linked := s.accept(c)
		return Outcome{next, Answer{Verdict: Accepted, State: next.State, Linked: linked}}
	case Repeated:
		return Outcome{s, Answer{Verdict: Repeated, State: s.State}}
	}
	s.Refused++
	s.Log++
	return Outcome{s, Answer{Verdict: verdict, Generation: s.generation()}}
}

// verdict is the guard: attempt and generation are the row's, the job runs, and
// the deadline lies ahead. What it refuses, it names.
func (s State) verdict(verb Verb, by Fence) Verdict {
	var lane Claim // the attempt's own life, if this fence was ever issued
	if by.Generation >= 1 && by.Generation <= s.generation() && s.Claims[by.Generation-1].Attempt == by.Attempt {
		lane = s.Claims[by.Generation-1]
	}
	current := lane.Attempt != 0 && by.Generation == s.generation()
	switch {
	case current && s.State == store.Running && s.Lease != Passed:
		return Accepted
	case lane.Attempt != 0 && lane.End != "" && lane.End == endOf[verb]:
		return Repeated
	case !current:
		return Verdict(store.ReasonSuperseded)
	case s.State == store.Terminated || lane.End == store.EndTerminated:
		return Verdict(store.ReasonTerminated)
	case s.State == store.Running || lane.End == store.EndExpired:
		return Verdict(store.ReasonLeaseExpired)
	}
	return Verdict(store.ReasonAlreadyEnded)
}

var endOf = map[Verb]store.End{Complete: store.EndCompleted, Fail: store.EndFailed, Release: store.EndReleased}

// accept is what an accepted write changes.
func (s State) accept(c Call) (next State, linked int) {
	switch c.Verb {
	case Renew:
		s.Lease = c.lease()
		s.Log++
		return s, 0
	case Complete:
		linked = min(c.FollowUps, s.FollowUps)
		s.FollowUps = max(c.FollowUps, s.FollowUps)
		s.Result, s.ResultBy = c.Result, c.By
		return s.ended(store.EndCompleted).change(store.Completed), linked
	case Fail:
		s.Errors++
		return s.ended(store.EndFailed).waits(s.afterFailure(c), Ahead), 0
	}
	if !c.Started {
		s.Used--
	}
	to := store.Available
	if s.Used >= s.Budget {
		to = store.Discarded
	}
	return s.ended(store.EndReleased).change(to), 0
}

func (s State) afterFailure(c Call) store.State {
	switch {
	case c.Permanent || s.Used >= s.Budget:
		return store.Discarded
	case c.Later:
		return store.Retryable
	}
	return store.Available
}

// expire: running and the deadline passed. Available at the first expiry, later
// with a wait, discarded when the budget is spent.
func (s State) expire(c Call) []Outcome {
	var out []Outcome
	for _, t := range s.times() {
		due := t.State == store.Running && t.Lease == Passed
		if due {
			out = append(out, Outcome{t.ended(store.EndExpired).waits(t.afterExpiry(), Ahead), Answer{Verdict: Accepted}})
		}
		if !due || !c.Alone {
			out = append(out, Outcome{t, Answer{}})
		}
	}
	return out
}

func (s State) afterExpiry() store.State {
	switch {
	case s.Used >= s.Budget:
		return store.Discarded
	case s.Used <= 1:
		return store.Available
	}
	return store.Retryable
}

// promote: scheduled or retryable, and due.
func (s State) promote(c Call) []Outcome {
	due := (s.State == store.Scheduled || s.State == store.Retryable) && s.Due == Passed
	var out []Outcome
	if due {
		out = append(out, Outcome{s.waits(store.Available, Ahead), Answer{Verdict: Accepted}})
	}
	if !due || !c.Alone {
		out = append(out, Outcome{s, Answer{}})
	}
	return out
}

// operate: an operator's verb, bound to the revision that was seen. Accepted or
// not, it is audited, and the answer shows the row.
func (s State) operate(c Call) []Outcome {
	verdict := s.operable(c)
	s.Audited++
	if verdict == Accepted && c.Verb == Requeue {
		s = s.requeue()
	}
	if verdict == Accepted && c.Verb == Terminate {
		s = s.terminate()
	}
	return one(s, Answer{Verdict: verdict, Row: s.row()})
}

func (s State) operable(c Call) Verdict {
	switch {
	case c.Seen != s.Revision:
		return Verdict(store.ConflictChanged)
	case c.Verb == Requeue && s.State == store.Available:
		return Verdict(store.ConflictAlreadyWaiting)
	case c.Verb == Terminate && s.State.Terminal():
		return Verdict(store.ConflictAlreadyEnded)
	}
	return Accepted
}

// requeue takes the lease of a running job away and leaves room for one more
// attempt. A stored result stays.
func (s State) requeue() State {
	if s.State == store.Running {
		s = s.ended(store.EndRequeued)
	}
	s.Budget = max(s.Budget, s.Used+1)
	return s.waits(store.Available, Ahead)
}

func (s State) terminate() State {
	if s.State == store.Running {
		s = s.ended(store.EndTerminated)
	}
	return s.waits(store.Terminated, Ahead)
}

// lapse: the environment lets the deadline of a running job pass.
func (s State) lapse() []Outcome {
	if s.State != store.Running {
		return one(s, Answer{})
	}
	s.Lease = Passed
	return one(s, Answer{Verdict: Accepted})
}

// comeDue: the environment lets the due time of a waiting job come.
func (s State) comeDue() []Outcome {
	if s.State != store.Scheduled && s.State != store.Retryable {
		return one(s, Answer{})
	}
	s.Due = Passed
	return one(s, Answer{Verdict: Accepted})
}

// hold: another session holds the row for a while and, before it lets go,
// looks at it and at the clock.
func (s State) hold() []Outcome {
	var out []Outcome
	for _, t := range s.times() {
		alive := t.State == store.Running && t.Lease != Passed
		out = append(out, Outcome{t, Answer{Row: t.row(), Alive: alive}})
	}
	return out
}

func (s State) row() Row {
	return Row{
		State: s.State, Revision: s.Revision, Generation: s.generation(), Used: s.Used, Budget: s.Budget,
		Attempt: s.current().Attempt, End: s.current().End, ResultBy: s.ResultBy,
	}
}

func (s State) left() Left {
	return Left{Result: s.Result, FollowUps: s.FollowUps, Log: s.Log, Refused: s.Refused, Audited: s.Audited, Errors: s.Errors}
}

func (s State) equal(t State) bool {
	return s.row() == t.row() && s.left() == t.left() && s.Lease == t.Lease && s.Due == t.Due && slices.Equal(s.Claims, t.Claims)
}
