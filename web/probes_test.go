package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
)

// ready asks a console whether it is ready, and reads why not.
func (c *console) ready() (status int, reasons string) {
	c.t.Helper()
	a := c.get("/readyz")
	var r struct {
		Ready   bool
		Reasons []string
	}
	if err := json.Unmarshal([]byte(a.body), &r); err != nil {
		c.t.Fatalf("%v: %s", err, a.body)
	}
	if r.Ready != (a.status == http.StatusOK) {
		c.t.Errorf("status %d says ready %v", a.status, r.Ready)
	}
	return a.status, strings.Join(r.Reasons, "; ")
}

func (c *console) becomes(wantStatus int, wantReason string) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		status, reasons := c.ready()
		if status == wantStatus && strings.Contains(reasons, wantReason) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("it stays %d: %s", status, reasons)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAConsoleIsReadyUntilTheSchemaDoesNotFit(t *testing.T) {
	c := open(t)
	c.becomes(200, "")
	if _, err := c.owner.Exec(c.ctx, `insert into fenceline.schema_version (version_id, is_applied) values (99999, true)`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.owner.Exec(c.ctx, `update fenceline.compatibility set oldest = 99999`); err != nil {
		t.Fatal(err)
	}
	c.becomes(503, "99999")
	if _, err := c.owner.Exec(c.ctx, `drop table fenceline.schema_version`); err != nil {
		t.Fatal(err)
	}
	c.becomes(503, "fenceline migrate")
	want(t, c.get("/healthz"), 200)
}

func TestAConsoleWhoseConnectionsAreAllTakenSaysSo(t *testing.T) {
	t.Parallel()
	url := storetest.OwnerURL(t)
	c := openOn(t, storetest.Open(t, store.Config{URL: url, MaxConns: 1, StatementTimeout: time.Minute, LockTimeout: time.Minute}), url)
	holder, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(t.Context())
	if _, err := holder.Exec(t.Context(), `begin; lock table fenceline.jobs in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	go func() { defer close(waiting); c.store.Job(c.ctx, 1) }()
	c.becomes(503, "in use")
	want(t, c.get("/healthz"), 200)
	if _, err := holder.Exec(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	<-waiting
	c.becomes(200, "")
}

func TestAConsoleWithoutItsDatabaseIsAliveAndNotReady(t *testing.T) {
	c := open(t)
	c.becomes(200, "")
	admin, err := pgx.Connect(t.Context(), strings.Replace(c.ownerURL, c.owner.Config().Database, "postgres", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	name := pgx.Identifier{c.owner.Config().Database}.Sanitize()
	if _, err := admin.Exec(t.Context(), `alter database `+name+` allow_connections false`); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, c.owner.Config().Database); err != nil {
		t.Fatal(err)
	}
	c.becomes(503, "the database does not answer")
	want(t, c.get("/healthz"), 200)
	if _, err := admin.Exec(t.Context(), `alter database `+name+` allow_connections true`); err != nil {
		t.Fatal(err)
	}
	c.becomes(200, "")
}

func TestAConsoleThatShutsDownIsNotReady(t *testing.T) {
	c := open(t)
	c.becomes(200, "")
	c.Close()
	c.becomes(503, "shutting down")
}

func TestReadinessIsTextForThoseWhoAskForText(t *testing.T) {
	c := open(t)
	c.becomes(200, "")
	for accept, wantType := range map[string]string{
		"text/plain": "text/plain", "text/plain;q=0.9, */*": "text/plain", "": "application/json", "*/*": "application/json",
		"application/json, text/plain": "application/json", "nonsense;;,": "application/json",
	} {
		req, err := http.NewRequest("GET", c.url+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		res, err := c.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, wantType) || res.StatusCode != 200 {
			t.Errorf("accept %q: %d %s: %s", accept, res.StatusCode, got, body)
		}
		if wantType == "text/plain" && !strings.HasPrefix(string(body), "ready") {
			t.Errorf("accept %q: %s", accept, body)
		}
	}
}

func TestFiguresAreServedWhenThereAreSome(t *testing.T) {
	c := open(t, func(cfg *web.Config) { cfg.Metrics = prometheus.NewPedanticRegistry() })
	want(t, c.get("/jobs"), 200)
	want(t, c.get("/no/such/page/as-secret"), 404)
	a := want(t, c.get("/metrics"), 200)
	for _, line := range []string{
		`fenceline_http_requests_total{code="200",method="GET",route="/jobs"} 1`,
		`fenceline_jobs{state="available"} 0`, "fenceline_feed_lag_seconds 0", "fenceline_streams_open 0", "fenceline_feed_live",
	} {
		if !strings.Contains(a.body, line) {
			t.Errorf("there is no %s", line)
		}
	}
	if strings.Contains(a.body, "as-secret") {
		t.Error("what a client typed became a label")
	}
	want(t, c.another().get("/metrics"), 404)
	for path, status := range map[string]int{"/metrics": 403, "/healthz": 403, "/readyz": 403, "/stream": 403} {
		if a := want(t, c.send("PUT", path, ""), status); a.header.Get("Content-Type") != "text/plain; charset=UTF-8" {
			t.Errorf("%s: %s", path, a.header.Get("Content-Type"))
		}
	}
}

func TestAProcessWithoutAConsoleAnswersProbes(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	probes := web.Probes{Store: storetest.New(t), Metrics: prometheus.NewRegistry(), Version: "test", Closing: closing}
	front := httptest.NewServer(probes.Handler())
	defer front.Close()
	get := func(path string) (int, string) {
		t.Helper()
		res, err := front.Client().Get(front.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(body)
	}
	for path, wantStatus := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404, "/jobs": 404} {
		if status, body := get(path); status != wantStatus {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, body := get("/readyz"); strings.Contains(body, "feed") {
		t.Errorf("a feed is told of, and there is none: %s", body)
	}
	close(closing)
	if status, body := get("/readyz"); status != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("%d %s", status, body)
	}
}
