package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// OperationState is where an [Operation] stands.
type OperationState string

// The states of an operation. The last two are its end.
const (
	OperationPreview   OperationState = "preview"   // acts on nothing until somebody confirms it; forgotten after a day
	OperationRunning   OperationState = "running"   // is carried on by any process
	OperationPaused    OperationState = "paused"    // by an operator
	OperationHalted    OperationState = "halted"    // by itself; [HaltCode] says by what
	OperationCancelled OperationState = "cancelled" // by an operator; what was done stays done
	OperationFinished  OperationState = "finished"  // every job of the snapshot was dealt with
)

// Operation is an operator's action on many jobs: those of a snapshot, at the
// revisions that were seen when it was made.
type Operation struct {
	ID       int64
	Revision int64 // grows with each change of its state; what an operator's change is bound to
	State    OperationState
	Action   Action // [ActionRequeue] or [ActionTerminate]

	Total    int64 // jobs in the snapshot
	Position int64 // of those, dealt with
	Done     int64 // of those, changed; the others are [Skip]s
	Looked   int64 // above 0: the search stopped after so many jobs, and there may be more matches

	Filter   string             // the search; empty where jobs were ticked, or where Search names it
	Search   uuid.UUID          // the kept search; uuid.Nil when there is none
	Words    string             // which jobs were selected, for people
	States   map[State]int64    // how many were in which state when they were looked at
	Expected map[Conflict]int64 // how many were going to be left alone then, by why

	CreatedAt, ConfirmedAt, ChangedAt, SteppedAt, FinishedAt time.Time // zero where it has not come to that
	ResumedAt                                                time.Time // when it was resumed last, since when its stop rule judges; zero for never

	CreatedBy, ConfirmedBy string
	Reason                 string   // the operator's words, which each job's timeline carries
	ActsFor                string   // in whose name it acts: who confirmed it, or resumed it last
	Worker                 string   // who took the last step
	Pace                   int      // jobs a minute; 0 for as fast as it goes
	HaltAbove              int      // percent of those that ran again that may fail with the same error; 0 for no rule
	HaltCode               HaltCode // empty for what is not halted
	HaltReason             string
}

// Skipped is how many jobs were left alone so far.
func (o Operation) Skipped() int64 { return o.Position - o.Done }

// Over reports that nothing more will be done.
func (o Operation) Over() bool { return o.State == OperationCancelled || o.State == OperationFinished }

// Why jobs of an operation are left alone, beside the reasons for which an
// action on one job is refused.
const (
	ConflictGone Conflict = "gone" // the job is no longer there
	ConflictBusy Conflict = "busy" // another session kept the job's row locked
)

// What an operator does with an [Operation].
const (
	ActionConfirm Action = "confirm"
	ActionCancel  Action = "cancel"
)

const (
	// MaxOperation is how many jobs one operation can select.
	MaxOperation = 1000000
	// MaxTicked is how many jobs can be named one by one.
	MaxTicked = 10000
	// MaxPace is the largest number of jobs a minute that is told from none.
	MaxPace = 1000000
	// OperationKept is how long an operation is kept after its end.
	OperationKept = 30 * 24 * time.Hour

	// partJobs is how many jobs stand in one part of a snapshot, and one step
	// deals with at most.
	partJobs = 250
)

// ErrNoOperation says that there is no such operation, or no longer.
var ErrNoOperation = errors.New("operation not found")

// OperationConflictError says that a change of an operation was refused and what
// it is now. Nothing was changed.
type OperationConflictError struct {
	Action    Action
	Why       Conflict // [ConflictChanged]
	Seen      int64    // the revision that the operator saw
	Operation Operation
}

// Error tells what the operation is now.
func (e *OperationConflictError) Error() string {
	if e.Seen == e.Operation.Revision {
		return fmt.Sprintf("operation %d is %s now (revision %d): there is nothing to %s", e.Operation.ID, e.Operation.State, e.Seen, e.Action)
	}
	return fmt.Sprintf("operation %d changed since you looked: it is %s now (revision %d, you saw %d)",
		e.Operation.ID, e.Operation.State, e.Operation.Revision, e.Seen)
}

const operationColumns = `o.id, o.revision, o.state, o.action, o.total, o.position, o.done, coalesce(o.looked, 0),
  coalesce(o.filter, ''), o.search, o.filter_words, o.states, o.expected,
  o.created_at, o.confirmed_at, o.changed_at, o.stepped_at, o.finished_at, o.resumed_at,
  o.created_by, coalesce(o.confirmed_by, ''), coalesce(o.reason, ''), coalesce(o.worker, ''),
  coalesce(o.pace, 0), coalesce(o.halt_above, 0), coalesce(o.halt_reason, ''),
  coalesce(o.acts_for, o.confirmed_by, ''), coalesce(o.halt_code, case when o.halt_reason is not null then 'stop_rule' end, '')`

func scanOperation(row pgx.CollectableRow) (o Operation, err error) {
	var search *uuid.UUID
	var confirmed, stepped, finished, resumed *time.Time
	err = row.Scan(&o.ID, &o.Revision, &o.State, &o.Action, &o.Total, &o.Position, &o.Done, &o.Looked,
		&o.Filter, &search, &o.Words, &o.States, &o.Expected,
		&o.CreatedAt, &confirmed, &o.ChangedAt, &stepped, &finished, &resumed,
		&o.CreatedBy, &o.ConfirmedBy, &o.Reason, &o.Worker,
		&o.Pace, &o.HaltAbove, &o.HaltReason, &o.ActsFor, &o.HaltCode)
	o.Search = orNil(search)
	o.CreatedAt, o.ChangedAt = o.CreatedAt.UTC(), o.ChangedAt.UTC()
	o.ConfirmedAt, o.SteppedAt, o.FinishedAt = orZero(confirmed), orZero(stepped), orZero(finished)
	o.ResumedAt = orZero(resumed)
	return o, err
}

func oneOperation(rows pgx.Rows, err error) (Operation, error) {
	if err != nil {
		return Operation{}, fmt.Errorf("read an operation: %w", err)
	}
	o, err := pgx.CollectExactlyOneRow(rows, scanOperation)
	if errors.Is(err, pgx.ErrNoRows) {
		return Operation{}, ErrNoOperation
	}
	return o, err
}
