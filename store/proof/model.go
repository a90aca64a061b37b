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

	Args      int64  // the version
	Kept      int    // of those before
	Erased    bool   // they are gone
	Forgotten bool   // the first request is not known any more
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
	case Requeue, Terminate, Correct, Amend, Erase, Note:
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

// becomes is the change to another state. Its due time, where it has one, lies
// ahead.
func (s State) becomes(to store.State) State {
	s.Due = Ahead
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
	case s.State != "" && (c.Other || s.Forgotten):
		return one(s, Answer{Verdict: Conflict})
	case s.State != "":
		return one(s, Answer{Verdict: Repeated})
	}
	s.Budget, s.Args = c.Budget, 1
	if c.Later {
		return one(s.becomes(store.Scheduled), Answer{Verdict: Accepted})
	}
	return one(s.change(store.Available), Answer{Verdict: Accepted})
}

func (s State) row() Row {
	return Row{
		State: s.State, Revision: s.Revision, Generation: s.generation(), Used: s.Used, Budget: s.Budget,
		Attempt: s.current().Attempt, End: s.current().End, ResultBy: s.ResultBy,
		Args: s.Args, Erased: s.Erased,
	}
}

func (s State) left() Left {
	return Left{Result: s.Result, FollowUps: s.FollowUps, Log: s.Log, Refused: s.Refused, Audited: s.Audited, Errors: s.Errors, Kept: s.Kept}
}

func (s State) equal(t State) bool {
	return s.row() == t.row() && s.left() == t.left() && s.Lease == t.Lease && s.Due == t.Due && s.Forgotten == t.Forgotten && slices.Equal(s.Claims, t.Claims)
}
