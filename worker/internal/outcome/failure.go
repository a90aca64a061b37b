// Package outcome is what the built-in kinds have in common: args that are read
// strictly, errors that name their class, and the text of others made fit to be
// kept and shown.
package outcome

import (
	"bytes"
	"encoding/json"
)

// Fail is an error with the class under which the store groups it. A cause is
// told behind the message, and found by [errors.Is].
func Fail(class, message string, cause error) error { return &failure{class, message, cause} }

type failure struct {
	class, message string
	cause          error
}

func (f *failure) Class() string { return f.class }
func (f *failure) Unwrap() error { return f.cause }
func (f *failure) Error() string {
	if f.cause != nil {
		return f.message + ": " + f.cause.Error()
	}
	return f.message
}

// Strict reads a job's args and refuses fields that it does not know: a misspelt
// one would otherwise be left out of what is done.
func Strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
