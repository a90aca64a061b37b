package tracing_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/tracing"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

const patience = 60 * time.Second

func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes() {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// One trace shows the request, each attempt, and the job that followed.
func TestAttemptsAreSpansOfTheirEnqueuersTrace(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	seen := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen))
	ctx, request := provider.Tracer("test").Start(t.Context(), "request")
	parent := tracing.Traceparent(ctx)
	if !store.ValidTrace(parent) || tracing.Traceparent(t.Context()) != "" {
		t.Fatalf("the traceparent is %q", parent)
	}
	request.End()

	pool := worker.New(st, worker.Config{Tracer: tracing.New(provider), Poll: 50 * time.Millisecond,
		Retry: store.Backoff{Base: time.Millisecond, Cap: time.Millisecond}})
	worker.Handle(pool, "first", func(ctx context.Context, job worker.Job[struct{}]) (any, error) {
		if job.Attempt.Number == 1 {
			return nil, errors.New("the secret is 4711")
		}
		_, inner := provider.Tracer("test").Start(ctx, "effect")
		inner.End()
		return nil, job.FollowUp("next", "second", struct{}{})
	})
	worker.Handle(pool, "second", func(context.Context, worker.Job[struct{}]) (any, error) { return nil, nil })
	running, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- pool.Run(running) }()
	if _, err := st.Enqueue(t.Context(), store.Request{Kind: "first", Trace: parent}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); len(seen.Ended()) < 5; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d spans ended", len(seen.Ended()))
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var told []string
	var second sdktrace.ReadOnlySpan
	for _, s := range seen.Ended() {
		if s.SpanContext().TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%s is in a trace of its own", s.Name())
		}
		told = append(told, s.Name()+" "+attributes(s)["fenceline.attempt.outcome"])
		if strings.Contains(s.Status().Description, "4711") {
			t.Error("an error's text is told")
		}
		switch attributes(s)["fenceline.attempt.outcome"] {
		case "failed":
			if s.Status().Code != codes.Error || s.Parent().SpanID() != request.SpanContext().SpanID() || len(s.Links()) != 1 {
				t.Errorf("the failed attempt: %v, parent %v", s.Status(), s.Parent().SpanID())
			}
		case "completed":
			if s.Name() == "attempt first" {
				second = s
			}
		}
	}
	want := "request |attempt first failed|effect |attempt first completed|attempt second completed"
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("spans\n%s, want\n%s", got, want)
	}
	for _, s := range seen.Ended() {
		if second != nil && (s.Name() == "effect" || s.Name() == "attempt second") && s.Parent().SpanID() != second.SpanContext().SpanID() {
			t.Errorf("%s is no child of the attempt that made it", s.Name())
		}
	}
}
