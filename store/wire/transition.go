package wire

import "github.com/fenceline/fenceline/store"

// Transition is one record of a job's log.
type Transition struct {
	ID           string       `json:"id"`
	JobID        string       `json:"job_id"`
	Kind         string       `json:"kind"`
	Queue        string       `json:"queue"`
	Type         string       `json:"type"`
	Op           *string      `json:"op"`
	Reason       *string      `json:"reason"`
	AttemptID    *string      `json:"attempt_id"`
	Generation   *int64       `json:"generation"`
	Revision     *int64       `json:"revision"`
	FromState    *string      `json:"from_state"`
	ToState      *string      `json:"to_state"`
	LeaseUntil   *string      `json:"lease_until"`
	RunAt        *string      `json:"run_at"`
	AttemptsUsed int          `json:"attempts_used"`
	MaxAttempts  int          `json:"max_attempts"`
	Worker       *string      `json:"worker"`
	Actor        *string      `json:"actor"`
	At           string       `json:"at"`
	Detail       store.Detail `json:"detail"`
}

// TransitionOf shows a transition.
func TransitionOf(t store.Transition) Transition {
	return Transition{
		ID: Decimal(t.ID), JobID: Decimal(t.JobID), Kind: t.Kind, Queue: t.Queue, Type: string(t.Type),
		Op: OrNull(string(t.Op)), Reason: OrNull(t.Reason), AttemptID: idOrNull(t.AttemptID),
		Generation: OrNull(t.Generation), Revision: OrNull(t.Revision),
		FromState: OrNull(string(t.From)), ToState: OrNull(string(t.To)),
		LeaseUntil: InstantOrNull(t.LeaseUntil), RunAt: InstantOrNull(t.RunAt),
		AttemptsUsed: t.Attempts, MaxAttempts: t.MaxAttempts,
		Worker: OrNull(t.Worker), Actor: OrNull(t.Actor), At: Instant(t.At), Detail: t.Detail,
	}
}

// TransitionsOf shows transitions, in their order; none are an empty list.
func TransitionsOf(all []store.Transition) []Transition {
	out := make([]Transition, len(all))
	for i, t := range all {
		out[i] = TransitionOf(t)
	}
	return out
}
