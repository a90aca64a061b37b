package store

// State is where a job stands. The words are those of the protocol and of the
// database type fenceline.job_state.
type State string

// The states of a job. The last three are terminal: only an operator's requeue
// leaves them.
const (
	Scheduled  State = "scheduled"  // waits for run_at
	Available  State = "available"  // may be claimed
	Running    State = "running"    // claimed; an attempt may hold a lease
	Retryable  State = "retryable"  // waits for run_at after a failed or expired attempt
	Completed  State = "completed"  // a result was accepted
	Discarded  State = "discarded"  // budget spent, or a permanent failure
	Terminated State = "terminated" // ended by an operator
)

// States lists every state in the order in which a job can pass through them.
var States = []State{Scheduled, Available, Running, Retryable, Completed, Discarded, Terminated}

// Terminal reports whether only an operator's requeue can leave the state.
func (s State) Terminal() bool {
	return s == Completed || s == Discarded || s == Terminated
}

// Valid reports whether s is one of [States].
func (s State) Valid() bool {
	for _, known := range States {
		if s == known {
			return true
		}
	}
	return false
}

// Type says what a transition records.
type Type string

// The types of transition. Rejected changes no job; every other type does.
const (
	TypeEnqueued   Type = "enqueued"
	TypePromoted   Type = "promoted"
	TypeClaimed    Type = "claimed"
	TypeRenewed    Type = "renewed"
	TypeCompleted  Type = "completed"
	TypeFailed     Type = "failed"
	TypeExpired    Type = "expired"
	TypeRejected   Type = "rejected"
	TypeReleased   Type = "released"
	TypeRequeued   Type = "requeued"
	TypeTerminated Type = "terminated"
	TypeAmended    Type = "amended"    // an operator changed what it is worked with
	TypeErased     Type = "erased"     // an operator removed its payload
	TypeNoted      Type = "noted"      // an operator wrote something down
	TypeDuplicated Type = "duplicated" // an operator enqueued another job like it
	TypeBaseline   Type = "baseline"   // stands for dropped older transitions; a fold may start here
)

// operatorTypes are the types of operators' actions, whose reason is a person's
// words.
const operatorTypes = `('requeued', 'terminated', 'amended', 'erased', 'noted', 'duplicated')`

// Operated reports whether an operator's action is recorded, so that the reason is
// a person's words.
func (t Type) Operated() bool {
	switch t {
	case TypeRequeued, TypeTerminated, TypeAmended, TypeErased, TypeNoted, TypeDuplicated:
		return true
	}
	return false
}

// Op is the verb that a refused write offered.
type Op string

// The verbs an attempt can offer.
const (
	OpRenew    Op = "renew"
	OpComplete Op = "complete"
	OpFail     Op = "fail"
	OpRelease  Op = "release"
)

// Reason says why an attempt's write was refused.
type Reason string

// The reasons of a refusal, in the words of the protocol.
const (
	ReasonSuperseded   Reason = "superseded"    // a newer generation exists, or another attempt holds this one
	ReasonLeaseExpired Reason = "lease_expired" // the deadline passed; nobody newer yet
	ReasonAlreadyEnded Reason = "already_ended" // the attempt had failed, been released or been taken away by a requeue
	ReasonTerminated   Reason = "terminated"    // an operator terminated the job
	ReasonUnknownJob   Reason = "unknown_job"   // there is no such job
)

// Reasons that accepted transitions carry beside those of refusals.
const (
	ReasonBudgetSpent      = "budget_spent"      // failed or expired led to discarded: no attempt is left
	ReasonPermanent        = "permanent"         // the handler said that no retry can help
	ReasonResultUnstorable = "result_unstorable" // the result cannot be kept; see [CheckJSON]
)

// End says how the last attempt of a job ended. It is empty while it runs and
// before the first claim.
type End string

// The ends of an attempt.
const (
	EndCompleted  End = "completed"
	EndFailed     End = "failed"
	EndExpired    End = "expired"
	EndReleased   End = "released"
	EndRequeued   End = "requeued"
	EndTerminated End = "terminated"
)
