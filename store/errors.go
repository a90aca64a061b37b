package store

import (
	"errors"
	"fmt"
)

// ErrStale is matched by every refused write of an attempt; the details are in
// the *[StaleError] around it.
var ErrStale = errors.New("stale attempt")

// ErrNotFound says that no such job exists.
var ErrNotFound = errors.New("job not found")

// StaleError is returned by a worker's verb that the guard refused. The
// refusal is already recorded on the job's timeline.
type StaleError struct {
	Lease   Lease
	Op      Op
	Reason  Reason
	Current int64 // the job's generation when it was locked; 0 for an unknown job
}

// Error tells the offered and the current generation.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s of job %d refused: %s (offered generation %d, current %d)",
		e.Op, e.Lease.JobID, e.Reason, e.Lease.Generation, e.Current)
}

// Is makes errors.Is(err, ErrStale) hold.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// InvalidError says which field of a request cannot be accepted and why.
// Nothing was stored.
type InvalidError struct {
	Field   string // the name used in the API, for example "args" or "args.items[3]"
	Message string // a sentence without the field's name or its value
}

// Error never holds the value that was refused.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// KeyConflictError says that the key belongs to a job that was enqueued by a
// different request. Nothing was stored.
type KeyConflictError struct {
	Kind, Key string
	JobID     int64 // the job that has the key
}

// Error names the job that has the key.
func (e *KeyConflictError) Error() string {
	return fmt.Sprintf("key %q of kind %q belongs to job %d, which was enqueued by a different request", e.Key, e.Kind, e.JobID)
}

// Conflict says why an operator's action was refused.
type Conflict string

// The reasons for which an operator's action is refused.
const (
	ConflictChanged        Conflict = "changed"         // the job changed since the revision that was seen
	ConflictAlreadyWaiting Conflict = "already_waiting" // requeue of an available job
	ConflictAlreadyEnded   Conflict = "already_ended"   // terminate of a terminal job, or a change that only a waiting one can have
	ConflictRunning        Conflict = "running"         // a change of what a running attempt holds
	ConflictErased         Conflict = "erased"          // the args are gone, and no others were given; or erased a second time
	ConflictNotEnded       Conflict = "not_ended"       // erasure of a job that has not ended
)

// ConflictError says that an operator's action was refused and what the job is
// now. Nothing of the job was changed.
type ConflictError struct {
	Action Action
	Why    Conflict
	Field  string // what of a change the job's state does not allow; empty for the whole action
	Seen   int64  // the revision that the operator saw
	Job    Job    // as it stood under the lock
}

// Error tells what the job is now.
func (e *ConflictError) Error() string {
	switch e.Why {
	case ConflictAlreadyWaiting:
		return fmt.Sprintf("job %d is already waiting to be claimed", e.Job.ID)
	case ConflictRunning:
		if e.Field == "args" {
			return fmt.Sprintf("job %d is running, and its args cannot be changed under the attempt that has them; a requeue with other args takes the lease away first", e.Job.ID)
		}
		return fmt.Sprintf("job %d is running: its %s can be changed when no attempt runs", e.Job.ID, e.Field)
	case ConflictErased:
		if e.Action == ActionErase {
			return fmt.Sprintf("job %d has been erased already", e.Job.ID)
		}
		return fmt.Sprintf("the args of job %d were erased; give others", e.Job.ID)
	case ConflictNotEnded:
		return fmt.Sprintf("job %d has not ended: it is %s, and would run without args; terminate it first", e.Job.ID, e.Job.State)
	case ConflictAlreadyEnded:
		if e.Field != "" {
			return fmt.Sprintf("job %d has ended, it is %s: its %s is of no account before a requeue", e.Job.ID, e.Job.State, e.Field)
		}
		return fmt.Sprintf("job %d has already ended: it is %s", e.Job.ID, e.Job.State)
	}
	suffix := ""
	if e.Action == ActionRequeue && e.Job.State == Available {
		suffix = ", already waiting to be claimed"
	}
	return fmt.Sprintf("job %d changed since you looked: it is %s now%s (revision %d, you saw %d)",
		e.Job.ID, e.Job.State, suffix, e.Job.Revision, e.Seen)
}

// Action is an operator's verb.
type Action string

// The operator's verbs.
const (
	ActionRequeue   Action = "requeue"
	ActionTerminate Action = "terminate"
	ActionAmend     Action = "amend"
	ActionErase     Action = "erase"
	ActionNote      Action = "note"
	ActionDuplicate Action = "duplicate"
)
