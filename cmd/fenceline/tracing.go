package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/tracing"
)

// spans are where the spans of attempts go. Without the standard variables of
// OpenTelemetry there are none, and nothing is connected to.
type spans struct {
	tracer worker.Tracer // nil: there are none
	end    func(context.Context, *app)
}

// flushPatience bounds what the end of a process waits for the collector.
const flushPatience = 3 * time.Second

// newSpans reads the standard variables. The exporter reads most of them by
// itself; here it is decided whether there is one.
func newSpans(ctx context.Context) (spans, error) {
	none := spans{end: func(context.Context, *app) {}}
	if !tracesWanted() {
		return none, nil
	}
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if value := os.Getenv(name); value != "" && value != "otlp" && value != "http/protobuf" {
			return none, usagef("%s: %q is not supported; spans are sent as otlp over http/protobuf", name, value)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return none, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "fenceline"), attribute.String("service.version", versionOf())), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return none, usagef("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return spans{tracing.New(provider), func(ctx context.Context, a *app) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushPatience)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			a.log.Warn("the last spans could not be sent", "error", err)
		}
	}}, nil
}

func tracesWanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" ||
		os.Getenv("OTEL_TRACES_EXPORTER") != ""
}

// traceLink is where a trace is shown.
type traceLink string

const tracePlace = "{trace}"

// UnmarshalText reads a flag.
func (l *traceLink) UnmarshalText(text []byte) error {
	u, err := url.Parse(strings.ReplaceAll(string(text), tracePlace, "0"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.Contains(string(text), tracePlace) {
		return fmt.Errorf("%q is not a web address with %s in it, as in https://traces.example/trace/%s", text, tracePlace, tracePlace)
	}
	*l = traceLink(text)
	return nil
}
