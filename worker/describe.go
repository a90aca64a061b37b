package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// description is what a failure's record says about an error.
type description struct {
	store.AttemptError
	permanent bool
	reason    string
	crashed   bool
	delay     time.Duration // the least until a retry
}

// classError gives an error the class under which failures are grouped.
type classError struct {
	class string
	err   error
}

func (e *classError) Error() string { return e.err.Error() }
func (e *classError) Unwrap() error { return e.err }
func (e *classError) Class() string { return e.class }

// unstorableError is the failure of a result that the database cannot keep.
type unstorableError struct{ err error }

func (e *unstorableError) Error() string { return e.err.Error() }
func (e *unstorableError) Unwrap() error { return e.err }
func (e *unstorableError) Class() string { return store.ReasonResultUnstorable }

// crashError is a handler that did not return.
type crashError struct {
	class, message, trace string
}

func (e *crashError) Error() string { return e.message }
func (e *crashError) Class() string { return e.class }

// caught turns what recover returned into an error. Nothing recovered from a
// handler that did not return means runtime.Goexit: panic(nil) recovers as a
// [runtime.PanicNilError].
func caught(value any, stack []byte) error {
	if value == nil {
		return &crashError{"goexit", "the handler ended its goroutine by runtime.Goexit", string(stack)}
	}
	return &crashError{"panic", text(value), string(stack)}
}

// describe reads an error of users' code. Such code may itself panic while it
// is read; that must not stop the failure from being recorded.
func describe(err error) (d description) {
	defer func() {
		if recover() != nil {
			d.Class, d.Message = "error", fmt.Sprintf("an error of type %T that cannot be read", err)
		}
	}()
	d.permanent = isPermanent(err)
	var u *unstorableError
	if errors.As(err, &u) {
		d.permanent, d.reason = true, store.ReasonResultUnstorable
	} else if d.permanent {
		d.reason = store.ReasonPermanent
	}
	var c *crashError
	if errors.As(err, &c) {
		d.crashed, d.Trace = true, c.trace
	}
	var later *retryAfterError
	if errors.As(err, &later) {
		d.delay = later.delay
	}
	d.Class, d.Message = class(err), err.Error()
	return d
}

// class is what an error calls itself by a method Class() string, or else the
// type of the first error in the chain that is more than a wrapping text.
func class(err error) string {
	var named interface{ Class() string }
	if errors.As(err, &named) {
		return named.Class()
	}
	for {
		name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
		inner := errors.Unwrap(err)
		switch {
		case name != "fmt.wrapError" && name != "worker.permanentError" && name != "worker.retryAfterError":
			if name == "errors.errorString" || name == "errors.joinError" || strings.HasPrefix(name, "fmt.") {
				return "error"
			}
			return name
		case inner == nil:
			return "error"
		}
		err = inner
	}
}

// text is a value as fmt shows it; fmt itself survives methods that panic.
func text(value any) string { return fmt.Sprint(value) }
