package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	someTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	someParent = "00-" + someTrace + "-00f067aa0ba902b7-01"
)

// collected is what a collector was sent: the spans' names by trace.
type collected struct {
	mu    sync.Mutex
	names map[string][]string
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				id := hex.EncodeToString(span.TraceId)
				c.names[id] = append(c.names[id], span.Name)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *collected) of(trace string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.names[trace], " ")
}

func TestAWorkersAttemptsAreSentAsSpansAndTheJobsPageLeadsToTheTrace(t *testing.T) {
	t.Parallel()
	got := &collected{names: map[string][]string{}}
	front := httptest.NewServer(got)
	defer front.Close()
	db := migrated(t)
	env := append(onDB(db), "OTEL_EXPORTER_OTLP_ENDPOINT="+front.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
	begin(t, env, "worker", "--workers", "2")
	s := serve(t, onDB(db), "--workers", "0", "--trace-url", "https://traces.example/trace/{trace}?x=1")
	id := runWith(t, onDB(db), "", "enqueue", "noop", "--traceparent", someParent, "--json").wants(t, exitOK).object(t)["id"]
	eventually(t, "the attempt's span", func() bool { return got.of(someTrace) == "attempt noop" })
	eventually(t, "the link on the job's page", func() bool {
		_, page := s.get("/jobs/" + id.(string))
		return strings.Contains(page, `href="https://traces.example/trace/`+someTrace+`?x=1"`)
	})
	req, err := http.NewRequest("POST", s.url+"/api/v1/jobs", strings.NewReader(`{"kind": "noop"}`))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(someParent, "4bf9", "1234", 1)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("traceparent", other)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 201 {
		t.Fatal(res, err)
	}
	res.Body.Close()
	eventually(t, "the span of a job enqueued over HTTP", func() bool { return got.of(other[3:35]) == "attempt noop" })
}

func TestWhereSpansGoIsCheckedBeforeAnythingIsWorked(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, bad := range []string{"OTEL_TRACES_EXPORTER=zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"} {
		env := append(onDB(db), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", bad)
		runWith(t, env, "", "worker", "--workers", "1").complains(t, exitUsage, strings.Split(bad, "=")[0])
	}
	for _, bad := range []string{"https://traces.example", "javascript:alert({trace})", "traces/{trace}"} {
		runWith(t, onDB(db), "", "serve", "--trace-url", bad).complains(t, exitUsage, "trace-url")
	}
	runWith(t, onDB(db), "", "enqueue", "noop", "--traceparent", "00-1").complains(t, exitUsage, "--traceparent")
}
