package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
)

// patience is how long a test waits for a fact before it fails.
const patience = time.Minute

// console is a server with a database and a feed of its own, reached over TCP.
type console struct {
	*web.Server
	t     *testing.T
	ctx   context.Context
	store *store.Store
	hub   *events.Hub
	owner *pgx.Conn

	ownerURL string
	url      string // without a slash at the end
	client   *http.Client
}

// open starts a console; change may alter its configuration.
func open(t *testing.T, change ...func(*web.Config)) *console {
	t.Helper()
	t.Parallel()
	return openMore(t, change...)
}

// openMore is open in a test that is parallel already.
func openMore(t *testing.T, change ...func(*web.Config)) *console {
	t.Helper()
	st, ownerURL := storetest.NewWithURL(t)
	return openOn(t, st, ownerURL, change...)
}

// another is one more process on the same database.
func (c *console) another(change ...func(*web.Config)) *console {
	c.t.Helper()
	return openOn(c.t, c.store, c.ownerURL, change...)
}

func openOn(t *testing.T, st *store.Store, ownerURL string, change ...func(*web.Config)) *console {
	t.Helper()
	hub := events.NewHub(st, events.Config{})
	running, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	cfg := web.Config{Store: st, Hub: hub, Version: "test"}
	for _, c := range change {
		c(&cfg)
	}
	server, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close(context.Background()) })
	front := httptest.NewServer(server.Handler())
	transport := &http.Transport{}
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
		front.Close()
	})
	return &console{
		Server: server, t: t, ctx: t.Context(), store: st, hub: hub, owner: owner, ownerURL: ownerURL, url: front.URL,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// json reads the answer as an object.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var out map[string]any
	dec := json.NewDecoder(strings.NewReader(a.body))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return out
}

// fault is the code and the field of an error of the API.
func (a answer) fault(t *testing.T) (code, field string) {
	t.Helper()
	e, ok := a.json(t)["error"].(map[string]any)
	if !ok {
		t.Fatalf("no error in %s", a.body)
	}
	if m, _ := e["message"].(string); m == "" {
		t.Errorf("no message in %s", a.body)
	}
	code, _ = e["code"].(string)
	field, _ = e["field"].(string)
	return code, field
}

// send makes one request; header holds pairs.
func (c *console) send(method, path, body string, header ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	return c.do(r)
}

func (c *console) do(r *http.Request) answer {
	c.t.Helper()
	resp, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func (c *console) get(path string) answer {
	c.t.Helper()
	return c.send("GET", path, "")
}

// post sends a form as a page of the console would.
func (c *console) post(path string, form url.Values, header ...string) answer {
	c.t.Helper()
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, header...)
	return c.send("POST", path, form.Encode(), header...)
}

// api sends JSON as a program would.
func (c *console) api(path, body string) answer {
	c.t.Helper()
	return c.send("POST", path, body, "Content-Type", "application/json")
}

func want(t *testing.T, a answer, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, excerpt(a.body))
	}
	return a
}

func excerpt(s string) string {
	if len(s) > 400 {
		return s[:400] + "…"
	}
	return s
}

func (c *console) enqueue(r store.Request) int64 {
	c.t.Helper()
	if r.Kind == "" {
		r.Kind = "report"
	}
	out, err := c.store.Enqueue(c.ctx, r)
	if err != nil {
		c.t.Fatal(err)
	}
	return out.ID
}

// claim claims one job of the kind.
func (c *console) claim(worker, kind string, lease time.Duration) store.Lease {
	c.t.Helper()
	got, err := c.store.Claim(c.ctx, store.ClaimParams{
		Worker: worker, Queue: store.DefaultQueue,
		Kinds: []store.KindLease{{Kind: kind, Lease: lease}}, AttemptIDs: []uuid.UUID{uuid.New()},
	})
	if err != nil || len(got) != 1 {
		c.t.Fatalf("claimed %d: %v", len(got), err)
	}
	return got[0].Lease
}

func (c *console) complete(worker string, lease store.Lease, result string) error {
	c.t.Helper()
	out, err := c.store.Complete(c.ctx, worker, []store.Completion{{Lease: lease, Result: json.RawMessage(result)}})
	if err != nil {
		c.t.Fatal(err)
	}
	return out[0].Err
}

func (c *console) renew(worker string, lease store.Lease) {
	c.t.Helper()
	out, err := c.store.Renew(c.ctx, worker, []store.Renewal{{Lease: lease, For: time.Minute}})
	if err != nil || out[0].Err != nil {
		c.t.Fatal(errors.Join(err, out[0].Err))
	}
}

func (c *console) exec(sql string, args ...any) {
	c.t.Helper()
	if _, err := c.owner.Exec(c.ctx, sql, args...); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

func (c *console) transitions(id int64) []store.Transition {
	c.t.Helper()
	all, err := c.store.Transitions(c.ctx, id, 0, 10000)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// eventually waits for a fact.
func (c *console) eventually(what string, fact func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for !fact() {
		if time.Now().After(deadline) {
			c.t.Fatalf("still not so: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func text(n int64) string { return strconv.FormatInt(n, 10) }
