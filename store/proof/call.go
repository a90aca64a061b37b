package proof

import (
	"fmt"
	"strings"

	"github.com/fenceline/fenceline/store"
)

// Verb is what a call asks for.
type Verb string

// The verbs of the protocol, and what stands for the rest of the world.
const (
	Enqueue   Verb = "enqueue"
	ClaimJob  Verb = "claim"
	Find      Verb = "find" // look a claim up whose answer was lost
	Renew     Verb = "renew"
	Complete  Verb = "complete"
	Fail      Verb = "fail"
	Release   Verb = "release"
	Expire    Verb = "expire"
	Promote   Verb = "promote"
	Requeue   Verb = "requeue"
	Terminate Verb = "terminate"
	Correct   Verb = "correct" // requeue with other args
	Amend     Verb = "amend"   // raises the budget
	Erase     Verb = "erase"
	Note      Verb = "note"
	Read      Verb = "read"     // the row
	Look      Verb = "look"     // the row, the result, and how much is on record
	Lapse     Verb = "lapse"    // the deadline passes
	ComeDue   Verb = "come due" // the due time comes
	Hold      Verb = "hold"     // another session locks the row for a while
)

// offers reports whether the verb is a write of an attempt, under the guard.
func (v Verb) offers() bool { return v == Renew || v == Complete || v == Fail || v == Release }

// operates reports whether the verb is an operator's.
func (v Verb) operates() bool {
	switch v {
	case Requeue, Terminate, Correct, Amend, Erase, Note:
		return true
	}
	return false
}

// Call is one request. It is comparable, and says all that its answer may
// depend on.
type Call struct {
	Verb   Verb
	By     Fence  // claim: the new attempt
	Worker string // who claims or offers; decides nothing

	Short     bool // claim, renew: the lease ends by itself soon
	Later     bool // enqueue, fail: due in a far future
	Permanent bool // fail
	Started   bool // release
	FollowUps int  // complete
	Result    string
	Seen      int64 // an operator's verb: the revision
	Other     bool  // enqueue: the key with another request
	Budget    int   // enqueue, amend
	Args      bool  // amend: other args as well

	Update, Commit bool // hold: touches the row as well; commits

	// Alone is set once the history is known: no other call was under way, so
	// that none can have held the row.
	Alone bool
}

func (c Call) lease() Clock {
	if c.Short {
		return Ticking
	}
	return Ahead
}

// Verdict is what a call was answered.
type Verdict string

// The verdicts beside the reasons of a refusal and those of a conflict. The
// empty one is "there was nothing to do".
const (
	Accepted Verdict = "accepted"
	Repeated Verdict = "repeated" // done before by the same; nothing changed
	Conflict Verdict = "key conflict"

	Impossible Verdict = "impossible" // a value that the job cannot have
)

// Answer is what came back. The model's and the store's are compared with ==.
type Answer struct {
	Verdict    Verdict
	State      store.State // of the job after an attempt's verb
	Generation int64       // claim: the new one; a refusal: the current one
	Used       int
	Budget     int
	Linked     int
	Alive      bool // hold
	Row        Row
	Left       Left

	Lost bool   // no answer arrived: it may have happened, or not, or happen later
	Err  string // an error that no call should meet
}

// Row is the job's row, as far as the protocol speaks of it.
type Row struct {
	State        store.State
	Revision     int64
	Generation   int64
	Used, Budget int
	Attempt      int
	End          store.End
	ResultBy     Fence
	Args         int64 // the version
	Erased       bool
}

// Left is what the calls so far have left behind beside the row.
type Left struct {
	Result    string
	FollowUps int
	Log       int
	Refused   int
	Audited   int
	Errors    int
	Kept      int // versions of the args before the present one
}

// String is the fence as a timeline shows it.
func (f Fence) String() string { return fmt.Sprintf("A%d g%d", f.Attempt, f.Generation) }

// String is the call as the timeline of a counterexample shows it.
func (c Call) String() string {
	s := string(c.Verb)
	flag := func(on bool, word string) {
		if on {
			s += " " + word
		}
	}
	switch c.Verb {
	case ClaimJob, Find:
		s += fmt.Sprintf(" as A%d", c.By.Attempt)
	case Renew, Complete, Fail, Release:
		s += " by " + c.By.String()
	case Enqueue:
		s += fmt.Sprintf(" with budget %d", c.Budget)
	case Amend:
		s += fmt.Sprintf(" to budget %d", c.Budget)
	}
	flag(c.Args, "and other args")
	flag(c.Verb.operates(), fmt.Sprintf("having seen revision %d", c.Seen))
	flag(c.Other, "under the same key, another request")
	flag(c.Short, "for a moment")
	flag(c.Permanent, "for good")
	flag(c.Later, "until much later")
	flag(c.Verb == Release && c.Started, "started")
	flag(c.Verb == Release && !c.Started, "unstarted")
	flag(c.FollowUps > 0, fmt.Sprintf("with %d follow-ups", c.FollowUps))
	flag(c.Update, "and touch")
	flag(c.Verb == Hold && c.Commit, "then commit")
	flag(c.Verb == Hold && !c.Commit, "then roll back")
	return s
}

// String is the answer as the timeline of a counterexample shows it.
func (a Answer) String() string {
	switch {
	case a.Err != "":
		return "ERROR " + a.Err
	case a.Lost:
		return "answer lost"
	}
	var parts []string
	add := func(on bool, format string, args ...any) {
		if on {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(a.Verdict == "" && a.Row == Row{}, "nothing to do")
	add(a.Verdict != "", "%s", a.Verdict)
	add(a.State != "", "now %s", a.State)
	add(a.Generation != 0, "generation %d", a.Generation)
	add(a.Budget != 0, "%d of %d attempts", a.Used, a.Budget)
	add(a.Linked != 0, "%d linked", a.Linked)
	add(a.Row != Row{}, "%s", a.Row)
	add(a.Alive, "lease alive")
	add(a.Left != Left{}, "%s", a.Left)
	return strings.Join(parts, ", ")
}

// String is the row as a timeline shows it.
func (r Row) String() string {
	s := fmt.Sprintf("%s r%d g%d %d/%d", r.State, r.Revision, r.Generation, r.Used, r.Budget)
	if r.Attempt != 0 {
		s += fmt.Sprintf(" A%d", r.Attempt)
	}
	if r.End != "" {
		s += " " + string(r.End)
	}
	if r.ResultBy != (Fence{}) {
		s += " result of " + r.ResultBy.String()
	}
	if r.Args > 1 {
		s += fmt.Sprintf(" args %d", r.Args)
	}
	if r.Erased {
		s += " erased"
	}
	return s
}

// String is what is left, as a timeline shows it.
func (l Left) String() string {
	return fmt.Sprintf("result %q, %d transitions of which %d refusals, %d audited, %d errors, %d follow-ups, %d older args",
		l.Result, l.Log, l.Refused, l.Audited, l.Errors, l.FollowUps, l.Kept)
}
