package main

import (
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// enqueuedJSON is a job, and whether the same request had been made before.
type enqueuedJSON struct {
	wire.Job
	Existing bool `json:"existing"`
}

// attemptJSON is one attempt's life with what it left.
type attemptJSON struct {
	wire.Attempt
	Error  *errorJSON `json:"error"`
	Output *string    `json:"output"`
}

type errorJSON struct {
	Class       string `json:"class"`
	Message     string `json:"message"`
	Trace       string `json:"trace,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

func attemptsOf(v store.JobView) []attemptJSON {
	out := []attemptJSON{}
	for i, a := range wire.AttemptsOf(v.History) {
		one := attemptJSON{Attempt: a}
		for _, f := range v.Errors {
			if f.AttemptID != v.History.Lanes[i].AttemptID {
				continue
			}
			one.Output = wire.OrNull(f.Output)
			if f.Class != "" || f.Message != "" {
				one.Error = &errorJSON{f.Class, f.Message, f.Trace, f.Fingerprint}
			}
		}
		out = append(out, one)
	}
	return out
}
