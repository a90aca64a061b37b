package views

import (
	"strings"

	"github.com/fenceline/fenceline/store"
)

// MaybeTwice is what the console says of effects outside the database that two
// attempts may both have had.
const MaybeTwice = "may have been delivered twice"

// lastLane is the attempt of the last claim, or nil before the first.
func lastLane(v store.JobView) *store.Lane { return laneOf(v, v.Job.Generation) }

func laneOf(v store.JobView, generation int64) *store.Lane {
	for i := len(v.History.Lanes) - 1; i >= 0; i-- {
		if l := &v.History.Lanes[i]; l.Generation == generation && !l.ClaimedAt.IsZero() {
			return l
		}
	}
	return nil
}

// laneBefore is the attempt before a generation, where it ended otherwise than
// by giving the job back or by a result.
func laneBefore(v store.JobView, generation int64) *store.Lane {
	l := laneOf(v, generation-1)
	if l == nil || l.End == store.EndReleased || l.End == store.EndCompleted {
		return nil
	}
	return l
}

// lastAction is the newest that moved the job; a note or a change of its
// conditions tells nothing of where it stands.
func lastAction(v store.JobView) *store.Transition {
	for i := len(v.History.Actions) - 1; i >= 0; i-- {
		if t := v.History.Actions[i].Type; t == store.TypeRequeued || t == store.TypeTerminated {
			return &v.History.Actions[i]
		}
	}
	return nil
}

// newest reports whether nothing but refusals happened after an action.
func newest(v store.JobView, a store.Transition) bool {
	later := int64(0) // what changed since and moved nothing
	for _, t := range v.History.Actions {
		if t.Revision > a.Revision && t.From == t.To {
			later++
		}
	}
	return a.Revision+later == v.Job.Revision
}

// lastNote is what somebody wrote down last; nil where nobody did.
func lastNote(v store.JobView) *store.Transition {
	for i := len(v.History.Actions) - 1; i >= 0; i-- {
		if v.History.Actions[i].Type == store.TypeNoted {
			return &v.History.Actions[i]
		}
	}
	return nil
}

// newestRefusal finds the last refused write of all attempts and counts them.
func newestRefusal(lanes []store.Lane) (last store.Transition, n int) {
	for _, l := range lanes {
		n += len(l.Refused)
		if k := len(l.Refused); k > 0 && l.Refused[k-1].ID >= last.ID {
			last = l.Refused[k-1]
		}
	}
	return last, n
}

// excerpt is the first line of a text, cut to a number of runes.
func excerpt(s string, limit int) string {
	s = strings.TrimSpace(s)
	line, _, cut := strings.Cut(s, "\n")
	line = strings.TrimSpace(line)
	if r := []rune(line); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	if cut {
		return line + " …"
	}
	return line
}
