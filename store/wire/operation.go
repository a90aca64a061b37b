package wire

import "github.com/fenceline/fenceline/store"

// Operation is an action on many jobs.
type Operation struct {
	ID          string           `json:"id"`
	Revision    int64            `json:"revision"`
	State       string           `json:"state"`
	Action      string           `json:"action"`
	Total       int64            `json:"total"`
	Position    int64            `json:"position"` // of them, dealt with
	Done        int64            `json:"done"`
	Skipped     int64            `json:"skipped"`
	Looked      *int64           `json:"looked"` // the search stopped after so many jobs; null when it saw all
	Words       string           `json:"words"`
	Q           *string          `json:"q"`
	Search      *string          `json:"search"`
	States      map[string]int64 `json:"states"`
	Expected    map[string]int64 `json:"expected"` // would be left alone, by why
	CreatedAt   string           `json:"created_at"`
	CreatedBy   string           `json:"created_by"`
	ConfirmedAt *string          `json:"confirmed_at"`
	ConfirmedBy *string          `json:"confirmed_by"`
	Reason      *string          `json:"reason"`
	Pace        *int64           `json:"pace"`       // jobs a minute
	HaltAbove   *int64           `json:"halt_above"` // percent
	HaltCode    *string          `json:"halt_code"`
	HaltReason  *string          `json:"halt_reason"`
	ActsFor     *string          `json:"acts_for"` // who confirmed it, or resumed it last
	Worker      *string          `json:"worker"`
	SteppedAt   *string          `json:"stepped_at"`
	ResumedAt   *string          `json:"resumed_at"`
	FinishedAt  *string          `json:"finished_at"`
}

// OperationOf shows an operation.
func OperationOf(o store.Operation) Operation {
	out := Operation{
		ID: Decimal(o.ID), Revision: o.Revision, State: string(o.State), Action: string(o.Action),
		Total: o.Total, Position: o.Position, Done: o.Done, Skipped: o.Skipped(), Looked: OrNull(o.Looked),
		Words: o.Words, Q: OrNull(o.Filter), Search: idOrNull(o.Search), States: map[string]int64{}, Expected: map[string]int64{},
		CreatedAt: Instant(o.CreatedAt), CreatedBy: o.CreatedBy, ConfirmedAt: InstantOrNull(o.ConfirmedAt), ConfirmedBy: OrNull(o.ConfirmedBy),
		Reason: OrNull(o.Reason), Pace: OrNull(int64(o.Pace)), HaltAbove: OrNull(int64(o.HaltAbove)), HaltCode: OrNull(string(o.HaltCode)), HaltReason: OrNull(o.HaltReason),
		ActsFor: OrNull(o.ActsFor),
		Worker:  OrNull(o.Worker), SteppedAt: InstantOrNull(o.SteppedAt), ResumedAt: InstantOrNull(o.ResumedAt), FinishedAt: InstantOrNull(o.FinishedAt),
	}
	for s, n := range o.States {
		out.States[string(s)] = n
	}
	for why, n := range o.Expected {
		out.Expected[string(why)] = n
	}
	return out
}

// OperationsOf shows operations, in their order; none are an empty list.
func OperationsOf(all []store.Operation) []Operation {
	out := make([]Operation, len(all))
	for i, o := range all {
		out[i] = OperationOf(o)
	}
	return out
}

// OperationView is an operation with what its snapshot holds.
type OperationView struct {
	Operation
	Sample []Job `json:"sample"` // the first jobs of the snapshot, as they are now
}

// OperationViewOf shows an operation with the first jobs of its snapshot.
func OperationViewOf(v store.OperationView) OperationView {
	return OperationView{OperationOf(v.Operation), JobsOf(v.Sample)}
}

// Skip is a job that an operation left alone.
type Skip struct {
	JobID    string  `json:"job_id"`
	Why      string  `json:"why"`
	State    *string `json:"state"`
	Seen     int64   `json:"seen"`
	Revision *int64  `json:"revision"`
	At       string  `json:"at"`
}

// SkipOf shows a job that an operation left alone.
func SkipOf(s store.Skip) Skip {
	return Skip{Decimal(s.JobID), string(s.Why), OrNull(string(s.State)), s.Seen, OrNull(s.Revision), Instant(s.At)}
}
