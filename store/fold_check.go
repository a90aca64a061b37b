package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// from says which states a type of transition may leave.
var from = map[Type][]State{
	TypeEnqueued:   {""},
	TypePromoted:   {Scheduled, Retryable},
	TypeClaimed:    {Available},
	TypeCompleted:  {Running},
	TypeFailed:     {Running},
	TypeExpired:    {Running},
	TypeReleased:   {Running},
	TypeRequeued:   {Scheduled, Retryable, Running, Completed, Discarded, Terminated},
	TypeTerminated: {Scheduled, Available, Retryable, Running},
	TypeAmended:    States,
	TypeErased:     {Completed, Discarded, Terminated},
	TypeNoted:      States,
	TypeDuplicated: States,
}

// into says where a type of transition may lead.
var into = map[Type][]State{
	TypeEnqueued:   {Scheduled, Available},
	TypePromoted:   {Available},
	TypeClaimed:    {Running},
	TypeCompleted:  {Completed},
	TypeFailed:     {Available, Retryable, Discarded},
	TypeExpired:    {Available, Retryable, Discarded},
	TypeReleased:   {Available, Discarded},
	TypeRequeued:   {Available},
	TypeTerminated: {Terminated},
	TypeAmended:    States, // see stays
	TypeErased:     {Completed, Discarded, Terminated},
	TypeNoted:      States,
	TypeDuplicated: States,
}

// stays reports whether a type of transition leaves the job where it is. What is
// amended may come to be due now, or wait again.
func stays(t Transition) bool {
	switch {
	case t.To == t.From:
		return true
	case t.Type == TypeAmended:
		return t.To == Available && (t.From == Scheduled || t.From == Retryable) || t.To == Scheduled && t.From == Available
	}
	return !t.Type.Operated() || t.Type == TypeRequeued || t.Type == TypeTerminated
}

func (h *History) violate(invariant string, t Transition, format string, args ...any) {
	h.Violations = append(h.Violations, Violation{
		Invariant: invariant, JobID: t.JobID, Transition: t.ID, Message: fmt.Sprintf(format, args...),
	})
}

// checkStep holds a change against the state before it: the edge exists, the
// row's own record of where it came from agrees, and the counters move as they
// must.
func (h *History) checkStep(t Transition) {
	if h.State == Terminated && (!t.Type.Operated() || t.Type == TypeTerminated) {
		h.violate("I9", t, "%s after terminated", t.Type)
		return
	}
	if !slices.Contains(from[t.Type], h.State) {
		h.violate("I5", t, "%s of a job that the log left %q", t.Type, h.State)
	}
	if !slices.Contains(into[t.Type], t.To) || !stays(t) {
		h.violate("I5", t, "%s led to %q", t.Type, t.To)
	}
	if t.From != h.State {
		h.violate("I5", t, "%s says it left %q; the log says %q", t.Type, t.From, h.State)
	}
	if t.Revision != h.Revision+1 {
		h.violate("I5", t, "%s has revision %d after %d", t.Type, t.Revision, h.Revision)
	}
	if t.Queue != h.queue && t.Type != TypeAmended {
		h.violate("I5", t, "%s in queue %q of a job that the log left in %q", t.Type, t.Queue, h.queue)
	}
	h.checkBudget(t)
	h.checkArgs(t)
	if t.Type == TypeClaimed {
		h.checkClaim(t)
	}
}

// checkBudget holds I7: only a claim charges, only the release of an attempt
// that had not started gives back, and only an operator grants more.
func (h *History) checkBudget(t Transition) {
	used, granted := h.Attempts, h.MaxAttempts
	switch {
	case t.Type == TypeEnqueued:
		granted = t.MaxAttempts
	case t.Type == TypeClaimed:
		used++
	case t.Type == TypeReleased && t.Detail.Unstarted:
		used--
	case t.Type == TypeRequeued:
		granted = max(granted, used+1)
	case t.Type == TypeAmended:
		granted = max(granted, t.MaxAttempts)
	}
	if t.Attempts != used || t.MaxAttempts != granted || used > granted {
		h.violate("I7", t, "%s with %d of %d attempts used, after %d of %d", t.Type, t.Attempts, t.MaxAttempts, h.Attempts, h.MaxAttempts)
	}
}

// checkArgs holds I11: what an attempt was given does not change while it runs,
// each change of it has the next number, and what is erased waits for others.
func (h *History) checkArgs(t Transition) {
	d := t.Detail
	switch {
	case d.ArgsVersion != 0 && d.ArgsVersion != h.ArgsVersion+1:
		h.violate("I11", t, "%s to version %d of the args after %d", t.Type, d.ArgsVersion, h.ArgsVersion)
	case d.ArgsVersion != 0 && t.Type != TypeRequeued && t.Type != TypeAmended:
		h.violate("I11", t, "%s with other args", t.Type)
	case h.State == Running && t.Type == TypeAmended && (d.ArgsVersion != 0 || t.Queue != h.queue):
		h.violate("I11", t, "amended with other args, or in another queue, under a running attempt")
	case h.Erased && !t.To.Terminal() && d.ArgsVersion == 0:
		h.violate("I11", t, "%s to %q without args, which were erased", t.Type, t.To)
	case h.Erased && t.Type == TypeErased:
		h.violate("I11", t, "erased twice")
	}
}

func (h *History) checkClaim(t Transition) {
	if t.Generation != h.Generation+1 {
		h.violate("I1", t, "claimed generation %d after %d", t.Generation, h.Generation)
	}
	if _, seen := h.lanes[t.AttemptID]; seen || t.AttemptID == uuid.Nil {
		h.violate("I1", t, "attempt %s claimed twice", t.AttemptID)
	}
	if !t.LeaseUntil.After(t.At) {
		h.violate("I2", t, "claimed with a deadline that had passed")
	}
}

// checkGuard holds an accepted write of an attempt against the guard.
func (h *History) checkGuard(t Transition, lane *Lane) {
	invariant := map[Type]string{TypeRenewed: "I2", TypeCompleted: "I4"}[t.Type]
	if invariant == "" {
		invariant = "I3"
	}
	switch {
	case h.State == Terminated:
		h.violate("I9", t, "%s after terminated", t.Type)
	case t.AttemptID != h.AttemptID || t.Generation != h.Generation:
		h.violate(invariant, t, "%s by generation %d while %d was current", t.Type, t.Generation, h.Generation)
	case lane.End != "":
		h.violate(invariant, t, "%s by an attempt that had %s", t.Type, lane.End)
	case !t.At.Before(lane.LeaseUntil):
		h.violate(invariant, t, "%s at %s, after the deadline %s", t.Type, stamp(t.At), stamp(lane.LeaseUntil))
	}
}

// checkEnd holds an end against the attempt's life: at most one, under the
// guard when the worker made it, after the deadline when the sweeper did.
func (h *History) checkEnd(t Transition, lane *Lane) {
	switch t.Type {
	case TypeCompleted, TypeFailed, TypeReleased:
		// step has already moved the state on; the guard concerns the attempt.
		h.State = t.From
		h.checkGuard(t, lane)
		h.State = t.To
		return
	}
	switch {
	case lane.End != "":
		h.violate("I3", t, "%s of an attempt that had %s", t.Type, lane.End)
	case t.AttemptID != h.AttemptID:
		h.violate("I3", t, "%s of an attempt that was not current", t.Type)
	case t.Type == TypeExpired && t.At.Before(lane.LeaseUntil):
		h.violate("I3", t, "expired at %s, before the deadline %s", stamp(t.At), stamp(lane.LeaseUntil))
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Differences compares the history with the job's row: each is a violation of
// I5, because every change of a row has its transition.
func (h *History) Differences(j Job) []Violation {
	var out []Violation
	differ := func(what string, log, row any) {
		if log != row {
			out = append(out, Violation{Invariant: "I5", JobID: j.ID, Transition: h.Last,
				Message: fmt.Sprintf("%s: the log says %v, the row says %v", what, log, row)})
		}
	}
	differ("state", h.State, j.State)
	differ("generation", h.Generation, j.Generation)
	differ("revision", h.Revision, j.Revision)
	differ("attempts used", h.Attempts, j.Attempts)
	differ("budget", h.MaxAttempts, j.MaxAttempts)
	differ("attempt", h.AttemptID, j.AttemptID)
	differ("attempt's end", h.AttemptEnd, j.AttemptEnd)
	differ("deadline", stamp(h.LeaseUntil), stamp(j.LeaseUntil))
	differ("due time", stamp(h.RunAt), stamp(j.RunAt))
	differ("queue", h.queue, j.Queue)
	differ("version of its args", h.ArgsVersion, j.ArgsVersion)
	differ("erased", h.Erased, !j.ErasedAt.IsZero())
	if h.priority != nil {
		differ("priority", *h.priority, j.Priority)
	}
	for tag, there := range h.tags {
		differ("tag "+tag, there, slices.Contains(j.Tags, tag))
	}
	differ("finished", stamp(h.FinishedAt), stamp(j.FinishedAt))
	if h.ResultBy != j.ResultAttemptID || h.ResultGen != j.ResultGeneration {
		out = append(out, Violation{Invariant: "I4", JobID: j.ID, Transition: h.Last,
			Message: fmt.Sprintf("result: the log says generation %d, the row says %d", h.ResultGen, j.ResultGeneration)})
	}
	return out
}
