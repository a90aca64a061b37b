package store

import (
	"time"

	"github.com/google/uuid"
)

// History is what a job's transitions say: its state and its attempts. [Fold]
// makes it; the console, the verifier and the tests read the same one.
type History struct {
	JobID       int64
	State       State
	Generation  int64
	Revision    int64
	Attempts    int
	MaxAttempts int
	AttemptID   uuid.UUID // the last claim's
	AttemptEnd  End
	LeaseUntil  time.Time
	RunAt       time.Time
	FinishedAt  time.Time
	ResultBy    uuid.UUID // the attempt whose result is stored
	ResultGen   int64
	ArgsVersion int64        // of the args that it has now; 1 unless an operator gave it others
	ArgsFrom    int64        // of the oldest that is kept: those before were erased
	Erased      bool         // its args are gone
	FollowUps   int          // follow-up jobs that the accepted results wrote, each counted once
	Lanes       []Lane       // oldest first
	Actions     []Transition // what operators did
	Last        int64        // id of the newest transition folded in
	Before      time.Time    // the history before it has been removed; zero when it is whole
	Violations  []Violation  // what no correct log can hold

	lanes       map[uuid.UUID]int
	tags        map[string]bool // those that operators added, or removed
	priority    *int16          // since an operator changed it
	kind, queue string
	first       time.Time // when the log began, also what was removed of it
	count       int       // how many transitions it had
}

// Lane is one attempt's life: what the timeline draws as a row.
type Lane struct {
	AttemptID  uuid.UUID
	Generation int64
	Worker     string
	Args       int64     // the version of the args that it was given; 0 when the log does not tell
	ClaimedAt  time.Time // zero when the log holds a refusal of an attempt, but not its claim
	Renewals   []time.Time
	LeaseUntil time.Time // the last deadline granted
	End        End       // empty while it runs
	EndedAt    time.Time // when the end was recorded; an expiry is recorded by a sweep, after LeaseUntil
	Reason     string    // why it ended where it did; see [Transition]
	Unstarted  bool      // it was given back before any work had begun
	Refused    []Transition
}

// Violation is a broken invariant, found by [Fold] or by [Store.Verify].
type Violation struct {
	Invariant  string `json:"invariant"` // I1 to I11
	JobID      int64  `json:"job_id,string"`
	Transition int64  `json:"transition,string,omitempty"` // 0 where none can be named
	Message    string `json:"message"`
}

// Fold replays a job's transitions in the order of their ids. It is pure: the
// same transitions give the same history anywhere.
func Fold(transitions []Transition) History {
	var h History
	for _, t := range transitions {
		h.Add(t)
	}
	return h
}

// Add folds one more transition in. One that was folded before is ignored, so
// that a repeat from the feed does no harm; so is a baseline behind what it
// stands for, before that is removed.
func (h *History) Add(t Transition) {
	if h.Last != 0 && (t.ID <= h.Last || t.Type == TypeBaseline) {
		return
	}
	if h.Last == 0 {
		h.JobID, h.kind, h.queue, h.first = t.JobID, t.Kind, t.Queue, t.At
		h.ArgsVersion, h.ArgsFrom = 1, 1
	}
	h.Last = t.ID
	h.count++
	switch t.Type {
	case TypeRejected:
		lane := h.lane(t)
		lane.Refused = append(lane.Refused, t)
	case TypeRenewed:
		h.renewed(t)
	case TypeBaseline:
		h.baseline(t)
	default:
		h.checkStep(t)
		h.step(t)
	}
}

// step applies a change of the row.
func (h *History) step(t Transition) {
	h.State, h.Revision, h.Attempts, h.MaxAttempts = t.To, t.Revision, t.Attempts, t.MaxAttempts
	if !t.RunAt.IsZero() {
		h.RunAt = t.RunAt
	}
	if t.From != t.To {
		h.FinishedAt = time.Time{}
		if t.To.Terminal() {
			h.FinishedAt = t.At
		}
	}
	switch t.Type {
	case TypeClaimed:
		h.claimed(t)
	case TypeCompleted:
		h.end(t, EndCompleted)
		h.ResultBy, h.ResultGen = t.AttemptID, t.Generation
		h.FollowUps += t.Detail.FollowUps - t.Detail.Linked
	case TypeFailed:
		h.end(t, EndFailed)
	case TypeExpired:
		h.end(t, EndExpired)
	case TypeReleased:
		h.end(t, EndReleased)
	case TypeRequeued:
		if t.From == Running {
			h.end(t, EndRequeued)
		}
	case TypeTerminated:
		if t.From == Running {
			h.end(t, EndTerminated)
		}
	}
	if t.Type.Operated() {
		h.operated(t)
	}
}

// operated applies what an operator changed beside the state.
func (h *History) operated(t Transition) {
	h.Actions = append(h.Actions, t)
	d := t.Detail
	h.queue = t.Queue
	if d.ArgsVersion != 0 {
		if h.Erased {
			h.ArgsFrom = d.ArgsVersion
		}
		h.ArgsVersion, h.Erased = d.ArgsVersion, false
	}
	if t.Type == TypeErased {
		h.Erased, h.ResultBy, h.ResultGen = true, uuid.Nil, 0
		h.ArgsFrom = h.ArgsVersion
	}
	if t.Type != TypeAmended {
		return
	}
	if d.Priority != nil {
		h.priority = d.Priority
	}
	for tag, there := range map[string]bool{d.TagAdded: true, d.TagRemoved: false} {
		if tag == "" {
			continue
		}
		if h.tags == nil {
			h.tags = map[string]bool{}
		}
		h.tags[tag] = there
	}
}

func (h *History) claimed(t Transition) {
	h.Generation, h.AttemptID, h.AttemptEnd, h.LeaseUntil = t.Generation, t.AttemptID, "", t.LeaseUntil
	lane := h.lane(t)
	lane.Generation, lane.Worker, lane.ClaimedAt, lane.LeaseUntil = t.Generation, t.Worker, t.At, t.LeaseUntil
	lane.Args = h.ArgsVersion
}

func (h *History) renewed(t Transition) {
	lane := h.lane(t)
	h.checkGuard(t, lane)
	lane.Renewals = append(lane.Renewals, t.At)
	lane.LeaseUntil, h.LeaseUntil = t.LeaseUntil, t.LeaseUntil
}

func (h *History) end(t Transition, how End) {
	lane := h.lane(t)
	h.checkEnd(t, lane)
	lane.End, lane.EndedAt, lane.Reason, lane.Unstarted = how, t.At, t.Reason, t.Detail.Unstarted
	h.AttemptEnd = how
}

// lane returns the attempt's lane and begins it when the log did not.
func (h *History) lane(t Transition) *Lane {
	if h.lanes == nil {
		h.lanes = make(map[uuid.UUID]int)
	}
	i, known := h.lanes[t.AttemptID]
	if !known {
		i = len(h.Lanes)
		h.lanes[t.AttemptID] = i
		h.Lanes = append(h.Lanes, Lane{AttemptID: t.AttemptID, Generation: t.Generation, Worker: t.Worker})
	}
	return &h.Lanes[i]
}
