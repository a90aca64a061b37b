// Package tracing makes OpenTelemetry spans of a pool's attempts.
//
//	pool := worker.New(st, worker.Config{Tracer: tracing.New(provider)})
//
// An attempt's span lasts from its claim until its outcome is settled. It is a
// child of whoever enqueued the job, so that one trace shows the request and
// every attempt, and it also names that span in a link, for systems that keep
// late spans apart. Enqueue with [Traceparent], or name it in SQL:
//
//	set local fenceline.traceparent = '00-…';
//
// Spans hold ids and words, never args, results or texts of errors.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

const scope = "github.com/fenceline/fenceline/worker"

// New makes a tracer whose spans the provider takes.
func New(provider trace.TracerProvider) worker.Tracer { return tracer{provider.Tracer(scope)} }

type tracer struct{ spans trace.Tracer }

func (t tracer) Begin(ctx context.Context, c *store.Claimed) (context.Context, func(worker.Ending, string)) {
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("messaging.system", "fenceline"),
			attribute.String("messaging.operation.type", "process"),
			attribute.String("messaging.destination.name", c.Queue),
			attribute.Int64("fenceline.job.id", c.Lease.JobID),
			attribute.String("fenceline.job.kind", c.Kind),
			attribute.String("fenceline.attempt.id", c.Lease.AttemptID.String()),
			attribute.Int64("fenceline.attempt.generation", c.Lease.Generation),
			attribute.Int("fenceline.attempt.number", c.Attempts),
		),
	}
	if enqueuer := spanContext(c.Trace); enqueuer.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, enqueuer)
		options = append(options, trace.WithLinks(trace.Link{SpanContext: enqueuer}))
	}
	ctx, span := t.spans.Start(ctx, "attempt "+c.Kind, options...)
	return ctx, func(how worker.Ending, reason string) {
		span.SetAttributes(attribute.String("fenceline.attempt.outcome", string(how)))
		if reason != "" {
			span.SetAttributes(attribute.String("error.type", reason))
		}
		if how != worker.EndedCompleted && how != worker.EndedReleased {
			span.SetStatus(codes.Error, reason)
		}
		span.End()
	}
}

func (tracer) Traceparent(ctx context.Context) string { return Traceparent(ctx) }

// Traceparent is the W3C traceparent of the span in ctx, to be given as
// [store.Request.Trace]; empty when there is none.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if parent := carrier["traceparent"]; store.ValidTrace(parent) {
		return parent
	}
	return ""
}

func spanContext(traceparent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}
