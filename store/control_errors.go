package store

import (
	"errors"
	"fmt"
	"time"
)

// ErrNoWorker says that no such worker is known: it never was, or has been
// forgotten since.
var ErrNoWorker = errors.New("worker not found")

// ConflictNotPaused is why a resume of what is not paused is refused.
const ConflictNotPaused Conflict = "not_paused"

// ControlConflictError says that a change of a control was refused and what the
// control is now. Nothing was changed.
type ControlConflictError struct {
	Action  Action
	Why     Conflict  // [ConflictChanged], [ConflictNotPaused], or [ConflictAlreadyEnded] of a worker
	Seen    int64     // the revision that the operator saw
	Control Control   // as it stood under the lock
	At      time.Time // when that was, on the database's clock
}

// Error tells what the control is now.
func (e *ControlConflictError) Error() string {
	what := e.Control.Title()
	switch e.Why {
	case ConflictNotPaused:
		return what + " is not paused"
	case ConflictAlreadyEnded:
		return what + " has already ended"
	}
	return fmt.Sprintf("%s changed since you looked: its settings are at revision %d, you saw %d", what, e.Control.Revision, e.Seen)
}

// Title names what a control is about, for a sentence.
func (c Control) Title() string {
	if c.Scope == ScopeAll {
		return "everything"
	}
	return fmt.Sprintf("%s %q", c.Scope, c.Name)
}
