package web_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

// sink is a log that many write.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Secrets in what a job was given, made and said come out nowhere but for those
// with the right, and there they are recorded.
func TestSecretsOfAJobComeOutNowhere(t *testing.T) {
	const canary = "canary-5f1d"
	var log sink
	c := signing(t, func(cfg *web.Config) {
		cfg.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Metrics = prometheus.NewRegistry()
		cfg.Heartbeat = 50 * time.Millisecond
	})
	c.person("reader", store.Powers{Role: store.RoleViewer, Rights: []store.Right{store.RightReveal}})
	operator, reader := c.as("operator"), c.as("reader")
	heard := c.listen("fenceline_transitions", "fenceline_work")

	args := []byte(`{"card":"` + canary + `","deep":{"list":["` + canary + `",{"x":"` + canary + `"}]},"n":1}`)
	done := c.enqueue(store.Request{Kind: "report", Args: args})
	streams := []*stream{
		c.follow("/stream?topic=home&topic=jobs&topic=queues&topic=workers&topic=job:"+text(done), operator...),
		c.follow("/api/v1/jobs/"+text(done)+"/transitions/stream", operator...),
	}
	if err := c.complete("w", c.claim("w", "report", time.Minute), `{"token":"`+canary+`"}`); err != nil {
		t.Fatal(err)
	}
	failed := c.enqueue(store.Request{Kind: "mail", Args: args})
	streams = append(streams, c.follow("/stream?topic=job:"+text(failed), operator...))
	out, err := c.store.Fail(c.ctx, "w", []store.Failure{{Lease: c.claim("w", "mail", time.Minute), Permanent: true, Reason: string(store.ReasonPermanent),
		Error: store.AttemptError{Class: "refused", Message: canary + " was refused", Trace: "at " + canary}, Output: "sent " + canary}})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	streams[0].await("shows the end", patch("completed"))
	streams[1].await("tells the end", named("transition"))
	streams[2].await("shows the failure", patch("refused"))

	for _, r := range c.Routes() {
		if r.Method != "GET" || r.Stream {
			continue
		}
		for _, id := range []int64{done, failed} {
			path := strings.ReplaceAll(strings.ReplaceAll(r.Path, ":id", text(id)), "*", "none")
			a := c.send("GET", path, "", operator...)
			if a.status >= 500 || strings.Contains(a.body, canary) {
				t.Errorf("GET %s: %d, with the secret: %v", path, a.status, strings.Contains(a.body, canary))
			}
			for name, values := range a.header {
				if strings.Contains(strings.Join(values, " "), canary) {
					t.Errorf("GET %s: the secret is in %s", path, name)
				}
			}
		}
	}
	want(t, c.send("GET", "/jobs?q=error:"+canary, "", operator...), 403) // an answer would tell
	want(t, c.post("/jobs/search", fields("q", "args.card:"+canary), operator...), 403)
	want(t, c.post("/jobs/"+text(done)+"/reveal", fields("as", "page"), operator...), 403)
	for what, bad := range map[string]string{"/jobs/" + text(done) + "/terminate": "reason=" + canary + "&seen=x", "/api/v1/jobs": `{"kind":"x","args":"` + canary + `"`} {
		header := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, operator...)
		if strings.HasPrefix(what, "/api") {
			header[1] = "application/json"
		}
		c.send("POST", what, bad, header...)
	}
	for i, s := range streams {
		for _, e := range s.all() {
			if strings.Contains(e.data, canary) {
				t.Errorf("stream %d: a %s holds the secret", i, e.name)
			}
		}
	}
	for _, table := range []string{"transitions", "audit", "sign_ins", "unknown_writes"} {
		var n int
		if err := c.owner.QueryRow(c.ctx, `select count(*) from fenceline.`+table+` t where t::text like '%`+canary+`%'`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s holds the secret %d times, %v", table, n, err)
		}
	}
	if strings.Contains(heard(), canary) || strings.Contains(log.String(), canary) {
		t.Error("a notification or the log holds the secret")
	}
	if !strings.Contains(log.String(), `"route":"/jobs/:id"`) {
		t.Error("the log was not looked at")
	}

	// With the right it is shown, by request, recorded, and kept by no cache.
	if a := want(t, c.send("GET", "/jobs/"+text(done), "", reader...), 200); strings.Contains(a.body, canary) {
		t.Error("a payload is shown without being asked for")
	}
	if a := want(t, c.send("GET", "/jobs/"+text(failed), "", reader...), 200); !strings.Contains(a.body, canary+" was refused") {
		t.Error("who may see payloads does not see the error")
	}
	a := want(t, c.post("/jobs/"+text(done)+"/reveal", fields("as", "page"), reader...), 200)
	if !strings.Contains(a.body, canary) || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", a.header)
	}
	var recorded string
	if err := c.owner.QueryRow(c.ctx, `select string_agg(actor, ', ') from fenceline.audit where action = 'reveal'`).Scan(&recorded); err != nil || recorded != "reader" {
		t.Errorf("recorded: %s, %v", recorded, err)
	}
}

// What a rule keeps from everybody comes out nowhere, whoever asks: not where it
// stands, not in what an error says of it, and not by searching for it. What a
// rule shows, everybody sees.
func TestWhatARuleKeepsComesOutForNobody(t *testing.T) {
	t.Parallel()
	const canary, open = "canary-77aa", "visible-77aa"
	_, url := storetest.NewWithURL(t)
	var rules []redact.Rule
	for _, text := range []string{"*:args.**.card=never", "*:result.token=never", "*:args.**.month=show", "mail:error=show", "mail:output=never"} {
		r, err := redact.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	var log sink
	c := openOn(t, storetest.Open(t, store.Config{URL: url, Redact: rules}), url, func(cfg *web.Config) {
		cfg.SignIn = &web.SignIn{Passwords: true}
		cfg.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Heartbeat = 50 * time.Millisecond
	})
	c.person("admin", store.Powers{Role: store.RoleAdmin})
	c.person("viewer", store.Powers{Role: store.RoleViewer})
	admin, viewer := c.as("admin"), c.as("viewer")
	args := []byte(`{"deep":[{"card":"` + canary + `"}],"month":"` + open + `","n":10.50}`)
	done, failed := c.enqueue(store.Request{Kind: "report", Args: args}), c.enqueue(store.Request{Kind: "mail", Args: args})
	streams := []*stream{c.follow("/stream?topic=job:"+text(failed), viewer...), c.follow("/stream?topic=job:"+text(failed), admin...)}
	if err := c.complete("w", c.claim("w", "report", time.Minute), `{"token":"`+canary+`","rows":7}`); err != nil {
		t.Fatal(err)
	}
	out, err := c.store.Fail(c.ctx, "w", []store.Failure{{Lease: c.claim("w", "mail", time.Minute), Permanent: true, Reason: string(store.ReasonPermanent),
		Error: store.AttemptError{Class: "refused", Message: "the card " + canary + " was refused", Trace: "at " + canary}, Output: "said " + canary}})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	for _, s := range streams {
		s.await("shows the failure to everybody", patch("was refused"))
	}
	var stored int
	if err := c.owner.QueryRow(c.ctx, `select count(*) from fenceline.attempt_errors e full join fenceline.attempt_outputs o using (attempt_id)
		where e::text || o::text like '%`+canary+`%'`).Scan(&stored); err != nil || stored != 0 {
		t.Errorf("the error or the output is stored with the secret: %d, %v", stored, err)
	}
	// As from a time before the rules.
	c.exec(`update fenceline.attempt_errors set message = 'an old one about ` + canary + `'`)
	token := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "admin", "sees", store.Powers{Role: store.RoleAdmin}, time.Hour, access.Hash(token)); err != nil {
		t.Fatal(err)
	}
	var pages []answer
	for _, id := range []int64{done, failed} {
		job := "/jobs/" + text(id)
		pages = append(pages, want(t, c.send("GET", job, "", viewer...), 200), want(t, c.send("GET", job, "", admin...), 200),
			want(t, c.post(job+"/reveal", fields("as", "page"), admin...), 200), want(t, c.post(job+"/reveal", fields("as", "file", "part", "args"), admin...), 200),
			want(t, c.send("GET", "/api/v1"+job, "", "Authorization", "Bearer "+token), 200))
	}
	pages = append(pages, want(t, c.post("/jobs/"+text(done)+"/reveal", fields("as", "file", "part", "result"), admin...), 200))
	for i, a := range pages {
		if strings.Contains(a.body, canary) {
			t.Errorf("answer %d holds what nobody may see: %s", i, excerpt(a.body))
		}
		if !strings.Contains(a.body, open) && i < 10 {
			t.Errorf("answer %d lacks what everybody may see", i)
		}
	}
	if revealed := pages[3].body; !strings.Contains(revealed, "10.50") {
		t.Errorf("a number lost its digits: %s", revealed)
	}
	if old := pages[5].body; !strings.Contains(old, "an old one about •••") || !strings.Contains(old, "standard error is kept back.") {
		t.Errorf("who may reveal nothing is not shown the error that a rule shows: %s", excerpt(old))
	}
	for i, s := range streams {
		for _, e := range s.all() {
			if strings.Contains(e.data, canary) {
				t.Errorf("stream %d: a %s holds the secret", i, e.name)
			}
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Error("the log holds the secret")
	}
	for _, q := range []string{"args.card:" + canary, "args.deep.0.card:c*", "args.deep:x*", "kind:mail args.x.CARD:1"} {
		a := c.send("POST", "/api/v1/searches", `{"q":"`+q+`"}`, "Content-Type", "application/json", "Authorization", "Bearer "+token)
		if code, field := want(t, a, 422).fault(t); code != "invalid" || field != "q" {
			t.Errorf("%s: %s %s", q, code, field)
		}
		if a := c.post("/jobs/search", fields("q", q), admin...); a.status != 422 {
			t.Errorf("%s by form: %d", q, a.status)
		}
	}
	want(t, c.send("POST", "/api/v1/searches", `{"q":"args.month:x"}`, "Content-Type", "application/json", "Authorization", "Bearer "+token), 201)
}

// Nothing but the rules decides what is shown of a payload.
func TestNothingShowsAPayloadBesideTheRules(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "../views", "../events", "../cmd/fenceline"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if found := regexp.MustCompile(`\.(Payload|Failures)\(c`).Find(source); found != nil {
				t.Errorf("%s reads with %s what the rules have not seen; use Show, Reveal or JobView", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// listen collects what is notified until it is asked what that was.
func (c *console) listen(channels ...string) (heard func() string) {
	c.t.Helper()
	conn, err := pgx.Connect(c.ctx, c.ownerURL)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, channel := range channels {
		if _, err := conn.Exec(c.ctx, "listen "+channel); err != nil {
			c.t.Fatal(err)
		}
	}
	return func() string {
		var all strings.Builder
		if _, err := conn.Exec(c.ctx, "notify "+channels[0]+", 'last'"); err != nil {
			c.t.Fatal(err)
		}
		for {
			n, err := conn.WaitForNotification(c.ctx)
			if err != nil {
				c.t.Fatal(err)
			}
			if n.Payload == "last" {
				conn.Close(context.Background())
				return all.String()
			}
			all.WriteString(n.Channel + n.Payload + "\n")
		}
	}
}
