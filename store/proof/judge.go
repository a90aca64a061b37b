package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fenceline/fenceline/store"
)

// patience bounds the search for an order that explains one history. It takes
// well under a millisecond as a rule.
const patience = 20 * time.Second

// legal is the protocol as porcupine asks for it.
var legal = porcupine.Model{
	Init: func() any { return State{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(State).step(input.(Call), output.(Answer))
	},
	Equal: func(a, b any) bool { return a.(State).equal(b.(State)) },
}

// step says whether the answer is one that the model gives, and what follows.
// A lost answer fits always: what never happened is then the last in the order,
// where nobody sees it.
func (s State) step(c Call, a Answer) (bool, State) {
	for _, o := range s.After(c) {
		if a.Lost || o.Answer == a {
			return true, o.After
		}
	}
	return false, s
}

// noOrder is what a history breaks that the protocol cannot have given.
const noOrder = "no order of these calls gives these answers"

// judge holds a history against the model and the invariants.
func (h *History) judge() {
	slices.SortStableFunc(h.Events, func(a, b Event) int { return int(a.Began - b.Began) })
	h.markAlone()
	for _, e := range h.Events {
		if e.Answer.Err != "" {
			h.broken("an error: %s: %s", e.Call, e.Answer.Err)
		}
	}
	if !h.explained() {
		h.broken(noOrder)
	}
	folded := store.Fold(h.Log)
	for _, v := range append(folded.Violations, folded.Differences(h.Job)...) {
		h.broken("%s: %s", v.Invariant, v.Message)
	}
	h.compareRecords()
}

// explained reports whether some order of the calls gives the answers. A search
// that takes too long has not found one.
func (h *History) explained() bool {
	return porcupine.CheckOperationsTimeout(legal, h.operations(), patience) == porcupine.Ok
}

func (h *History) broken(format string, args ...any) {
	h.Broken = append(h.Broken, fmt.Sprintf(format, args...))
}

// markAlone finds the calls that overlapped no other.
func (h *History) markAlone() {
	for i := range h.Events {
		e := &h.Events[i]
		e.Call.Alone = true
		for j := range h.Events {
			o := &h.Events[j]
			if i != j && o.Began <= e.Ended && e.Began <= o.Ended {
				e.Call.Alone = false
				break
			}
		}
	}
}

func (h *History) operations() []porcupine.Operation {
	ops := make([]porcupine.Operation, len(h.Events))
	for i, e := range h.Events {
		ops[i] = porcupine.Operation{ClientId: e.Client, Input: e.Call, Output: e.Answer, Call: int64(e.Began), Return: int64(e.Ended)}
	}
	return ops
}

// compareRecords holds the answers against the log: every change and every
// refusal that was answered is on record once, and nothing else is.
func (h *History) compareRecords() {
	if h.lost() {
		return
	}
	balance := map[string]int{}
	for _, e := range h.Events {
		if record := recordOf(e.Call, e.Answer); record != "" {
			balance[record]++
		}
	}
	for _, t := range h.Log {
		balance[record(t, h.names)]--
	}
	for what, n := range balance {
		switch {
		case n > 0:
			h.broken("I6: %q was answered %d times more than it is on record", what, n)
		case n < 0:
			h.broken("I6: %q is on record %d times more than it was answered", what, -n)
		}
	}
}

var typeOf = map[Verb]store.Type{
	Enqueue: store.TypeEnqueued, ClaimJob: store.TypeClaimed, Renew: store.TypeRenewed, Complete: store.TypeCompleted,
	Fail: store.TypeFailed, Release: store.TypeReleased, Expire: store.TypeExpired, Promote: store.TypePromoted,
	Requeue: store.TypeRequeued, Terminate: store.TypeTerminated,
	Correct: store.TypeRequeued, Amend: store.TypeAmended, Erase: store.TypeErased, Note: store.TypeNoted,
}

// recordOf is what an answered call must have left in the log.
func recordOf(c Call, a Answer) string {
	switch c.Verb {
	case Find, Read, Look, Lapse, ComeDue, Hold:
		return ""
	case Renew, Complete, Fail, Release:
		switch a.Verdict {
		case Accepted:
			return fmt.Sprint(typeOf[c.Verb], " ", c.By)
		case Repeated:
			return ""
		}
		return fmt.Sprintf("rejected %s %s %s current %d", c.Verb, c.By, a.Verdict, a.Generation)
	}
	if a.Verdict != Accepted {
		return ""
	}
	if c.Verb == ClaimJob {
		return fmt.Sprint(typeOf[c.Verb], " ", Fence{c.By.Attempt, a.Generation})
	}
	return string(typeOf[c.Verb])
}

func record(t store.Transition, n names) string {
	by := Fence{n.number(t.AttemptID), t.Generation}
	switch t.Type {
	case store.TypeRejected:
		return fmt.Sprintf("rejected %s %s %s current %d", t.Op, by, t.Reason, t.Detail.Current)
	case store.TypeRenewed, store.TypeCompleted, store.TypeFailed, store.TypeReleased, store.TypeClaimed:
		return fmt.Sprint(t.Type, " ", by)
	}
	return string(t.Type)
}
