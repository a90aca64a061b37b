package events

import (
	"errors"
	"fmt"
)

// What ends a subscription, or keeps it from starting. After each of them the
// reader takes a fresh snapshot and watches from there.
var (
	// ErrSlow says that the reader fell too far behind and was cut so that the
	// others feel nothing.
	ErrSlow = errors.New("the reader is too slow")
	// ErrTooFar says that what was missed is too much to replay, or that the
	// position or id to resume from is not one of this database.
	ErrTooFar = errors.New("too far to replay")
	// ErrClosed says that the hub ends; another process may serve the reader.
	ErrClosed = errors.New("the feed is closing")
)

// errRunning says that Run was called twice.
var errRunning = errors.New("the hub runs already")

func tooFar(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTooFar, fmt.Sprintf(format, args...))
}
