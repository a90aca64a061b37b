package worker

import (
	"context"

	"github.com/fenceline/fenceline/store"
)

// Tracer is told of attempts, to make spans of them: package worker/tracing is
// one for OpenTelemetry. Its methods are called by the pool's own goroutines,
// several at once.
type Tracer interface {
	// Begin follows a claim. The handler's context is made of the one that it
	// returns. End is called once, when the outcome is settled, with a word for
	// what went wrong: the reason of a refusal or the class of an error; never an
	// error's text.
	Begin(ctx context.Context, claimed *store.Claimed) (_ context.Context, end func(how Ending, reason string))
	// Traceparent is what the jobs that a handler enqueues are given as
	// [store.Request.Trace]; empty when there is no span.
	Traceparent(ctx context.Context) string
}

// untraced is the tracer of a pool that has none.
type untraced struct{}

func (untraced) Begin(ctx context.Context, _ *store.Claimed) (context.Context, func(Ending, string)) {
	return ctx, func(Ending, string) {}
}

func (untraced) Traceparent(context.Context) string { return "" }
