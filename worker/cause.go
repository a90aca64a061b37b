package worker

import (
	"errors"
	"fmt"
	"time"
)

// The causes with which an attempt's context is cancelled; see [context.Cause].
// They are matched with errors.Is.
var (
	// ErrLeaseLost says that the lease could not be confirmed in time, or that
	// the database refused to renew it. Another attempt may be running.
	ErrLeaseLost = errors.New("lease lost")
	// ErrTerminated says that an operator ended the job.
	ErrTerminated = errors.New("job terminated")
	// ErrShutdown says that the pool is stopping and its grace time is over.
	ErrShutdown = errors.New("pool is shutting down")
	// ErrTimeout says that the handler ran longer than its kind may.
	ErrTimeout = errors.New("handler timed out")
)

// ErrUnfinished is returned by [Pool.Run] when attempts were still running, or
// their outcome could not be stored, once every time limit of the shutdown had
// passed. Their leases expire and the jobs run again.
var ErrUnfinished = errors.New("attempts were left to expire")

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks an error that no retry can cure: the job is discarded
// whatever is left of its budget. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Unstorable marks an error that says why there is no result that could be
// stored, although the work is done: a permanent failure named
// result_unstorable. Unstorable(nil) is nil.
func Unstorable(err error) error {
	if err == nil {
		return nil
	}
	return &unstorableError{err}
}

// RetryAfter marks an error after which the other side wants to be left alone
// for so long: the kind's backoff begins behind the delay, so that jobs which
// were told the same do not come back together. RetryAfter(nil, delay) is nil.
func RetryAfter(err error, delay time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfterError{err, max(delay, 0)}
}

type retryAfterError struct {
	err   error
	delay time.Duration
}

func (e *retryAfterError) Error() string { return e.err.Error() }
func (e *retryAfterError) Unwrap() error { return e.err }

func isPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// because joins a cause with what led to it.
func because(cause, detail error) error {
	if detail == nil {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, detail)
}
