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

// tellingRefusal finds the refused write that says most, and counts them all.
// An outcome that was offered says more than a renewal, a later one more than
// an earlier one.
func tellingRefusal(lanes []store.Lane) (telling store.Transition, n int) {
	for _, l := range lanes {
		n += len(l.Refused)
		for _, r := range l.Refused {
			if more, as := outcome(r), outcome(telling); more && !as || more == as && r.ID > telling.ID {
				telling = r
			}
		}
	}
	return telling, n
}

func outcome(t store.Transition) bool { return t.ID != 0 && t.Op != store.OpRenew }

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
