package web_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views"
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

// What is planted in jobs, each wherever it can be.
const (
	hidden = "canary-5f1d"  // shown to who may reveal it, by request and recorded
	kept   = "canary-77aa"  // shown to nobody: a rule says so, or the name it stands under
	public = "visible-77aa" // shown to everybody: a rule says so
	key    = "canary-key"   // the job's own key, which pages show and logs do not
)

// planted is a console with people, and two jobs that hold secrets.
type planted struct {
	*console
	log, heard   func() string
	admin        []string // may reveal
	reader       []string // may look, and reveal
	operator     []string // may act, and not reveal
	token        []string // of a program of the admin's, which may reveal
	streams      map[string]*stream
	done, failed int64
}

// fragile is a drill that panics with a secret.
type fragile struct{}

func (fragile) Start(context.Context, string) (int64, bool, error) { panic(hidden + kept) }

func plant(t *testing.T) *planted {
	var rules []redact.Rule
	for _, text := range []string{"*:args.**.card=never", "*:args.**.month=show", "odd:error=show", "odd:output=never"} {
		r, err := redact.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	_, url := storetest.NewWithURL(t)
	var log sink
	c := openOn(t, storetest.Open(t, store.Config{URL: url, Redact: rules}), url, func(cfg *web.Config) {
		cfg.SignIn = &web.SignIn{Passwords: true}
		cfg.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Metrics = prometheus.NewRegistry()
		cfg.Heartbeat = 50 * time.Millisecond
		cfg.Drill = fragile{}
	})
	p := &planted{console: c, log: log.String, heard: c.listen("fenceline_transitions", "fenceline_work")}
	c.person("admin", store.Powers{Role: store.RoleAdmin})
	c.person("operator", store.Powers{Role: store.RoleOperator})
	c.person("reader", store.Powers{Role: store.RoleViewer, Rights: []store.Right{store.RightReveal}})
	p.admin, p.reader, p.operator = c.as("admin"), c.as("reader"), c.as("operator")
	token := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "admin", "sees", store.Powers{Role: store.RoleAdmin}, time.Hour, access.Hash(token)); err != nil {
		t.Fatal(err)
	}
	p.token = []string{"Content-Type", "application/json", "Authorization", "Bearer " + token}

	args := []byte(`{"note":"` + hidden + `","deep":[{"card":{"` + kept + `":"` + kept + `"},"x":"` + hidden + `"}],"db_password":"` + kept + `","month":"` + public + `",
		"n":90071992547409931234.50}`)
	p.done, p.failed = c.enqueue(store.Request{Kind: "report", Key: key, Args: args}), c.enqueue(store.Request{Kind: "odd", Args: args})
	mail := c.enqueue(store.Request{Kind: "mail", Args: args})
	p.streams = map[string]*stream{
		"pages":  c.follow("/stream?topic=home&topic=jobs&topic=queues&topic=workers&topic=incidents&topic=job:"+text(p.done), p.operator...),
		"api":    c.follow("/api/v1/jobs/"+text(p.done)+"/transitions/stream", p.operator...),
		"failed": c.follow("/stream?topic=job:"+text(p.failed), p.operator...),
		"mail":   c.follow("/stream?topic=job:"+text(mail), p.operator...),
		"seen":   c.follow("/stream?topic=job:"+text(mail), p.admin...),
	}
	lease := c.claim("w", "report", time.Minute)
	if out, err := c.store.Complete(c.ctx, "w", []store.Completion{{Lease: lease, Result: []byte(`{"token":"` + kept + `-made","note":"` + hidden + `"}`),
		Output: "made " + kept + "-made of " + hidden}}); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	for _, kind := range []string{"odd", "mail"} {
		out, err := c.store.Fail(c.ctx, "w", []store.Failure{{Lease: c.claim("w", kind, time.Minute), Permanent: true, Reason: string(store.ReasonPermanent),
			Error:  store.AttemptError{Class: "refused " + kept, Message: "the card " + kept + " was refused for " + hidden, Trace: "at " + kept + " in " + hidden},
			Output: "said " + kept + " and " + hidden}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	p.streams["pages"].await("shows the end", patch("completed"))
	p.streams["api"].await("tells the end", named("transition"))
	p.streams["failed"].await("shows the failure", patch("was refused"))
	p.streams["mail"].await("shows that it failed", patch("refused •••"))
	p.streams["seen"].await("shows the failure to who may reveal", patch("was refused for "+hidden))
	return p
}

// holds fails for each secret that a text holds.
func holds(t *testing.T, what, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %s: %s", what, s, excerpt(text[strings.Index(text, s):]))
		}
	}
}

// Secrets in what jobs were given, made and said come out nowhere but for those
// with the right, and there they are recorded; what a rule keeps comes out for
// nobody, and what a rule shows everybody sees.
func TestSecretsOfAJobComeOutNowhere(t *testing.T) {
	t.Parallel()
	p := plant(t)
	p.exec(`update fenceline.attempt_errors set message = message || ' as from before the rules: `+kept+`' where job_id = $1`, p.failed)

	// On no page, export, answer, header, metric or address of who may not reveal.
	answered := map[string]int{}
	for _, r := range p.Routes() {
		if r.Method != "GET" || r.Stream && r.Path != views.RouteAuditExport {
			continue
		}
		for _, id := range []int64{p.done, p.failed} {
			path := strings.ReplaceAll(strings.ReplaceAll(r.Path, ":id", text(id)), "*", "none")
			if r.Path == views.RouteAuditExport {
				path += "?format=csv"
			}
			for who, header := range map[string][]string{"operator": p.operator, "admin": p.admin} {
				a := p.send("GET", path, "", header...)
				if a.status >= 500 {
					t.Errorf("GET %s: %d", path, a.status)
				}
				if a.status == 200 {
					answered[r.Path]++
				}
				secrets := []string{kept}
				if who == "operator" {
					secrets = append(secrets, hidden)
				}
				// A rule shows the errors of this kind to everybody.
				if strings.HasSuffix(path, "/jobs/"+text(p.failed)) {
					a.body = strings.ReplaceAll(strings.ReplaceAll(a.body, "refused for "+hidden, ""), "in "+hidden, "")
				}
				holds(t, who+": GET "+path, a.body, secrets...)
				for name, values := range a.header {
					holds(t, who+": GET "+path+" in "+name, strings.Join(values, " "), kept, hidden)
				}
			}
			if r.Path == "/metrics" {
				break
			}
		}
	}
	if len(answered) < 20 || answered["/metrics"] != 2 || answered["/audit/export"] == 0 {
		t.Errorf("not all was looked at: %v", answered)
	}
	for path, status := range map[string]int{"/metrics": 401, "/stream?topic=home": 401} {
		if a := want(t, p.send("GET", path, "", "Accept", "*/*"), status); !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") || strings.Contains(a.body, "<") {
			t.Errorf("%s answers a program with %s: %s", path, a.header.Get("Content-Type"), excerpt(a.body))
		}
	}
	p.cannotBeAskedFor(t)
	p.comeOutByRequest(t)
	p.leaveNoTrace(t)
}

// cannotBeAskedFor: an answer to a search would tell.
func (p *planted) cannotBeAskedFor(t *testing.T) {
	want(t, p.send("GET", "/jobs?q=error:"+hidden, "", p.operator...), 403)
	want(t, p.post("/jobs/search", fields("q", "args.note:"+hidden), p.operator...), 403)
	want(t, p.post("/jobs/"+text(p.done)+"/reveal", fields("as", "page"), p.operator...), 403)
	for _, q := range []string{"args.card:" + kept, "args.deep.0.card:c*", "-args.Db_Password:x", "kind:mail args.x.CARD:1", "args.deep.-1.card." + kept + ":x"} {
		a := p.send("POST", "/api/v1/searches", `{"q":"`+q+`"}`, p.token...)
		if code, field := want(t, a, 422).fault(t); code != "invalid" || field != "q" {
			t.Errorf("%s: %s %s", q, code, field)
		}
		want(t, p.post("/jobs/search", fields("q", q), p.admin...), 422)
	}
	// What stands around a secret tells nothing of it either.
	for q, n := range map[string]int{"args.deep:*": 0, `args.deep.0:"{"*`: 0, "args.note:canary-5*": 3, "args.month:" + public: 3} {
		id, _ := want(t, p.send("POST", "/api/v1/searches", `{"q":`+strconv.Quote(q)+`}`, p.token...), 201).json(t)["id"].(string)
		got, _ := want(t, p.send("GET", "/api/v1/jobs?search="+id, "", p.token...), 200).json(t)["jobs"].([]any)
		if len(got) != n {
			t.Errorf("%s finds %d jobs, want %d", q, len(got), n)
		}
	}
	a := want(t, p.post("/jobs/search", fields("q", "args.note:"+hidden), p.admin...), 303)
	holds(t, "the address of a search", a.header.Get("Location"), hidden)
}

// comeOutByRequest: with the right they are shown, recorded and kept by no
// cache; and what is kept is not among them.
func (p *planted) comeOutByRequest(t *testing.T) {
	for _, id := range []int64{p.done, p.failed} {
		for _, form := range []url.Values{fields("as", "page"), fields("as", "file", "part", "args")} {
			a := want(t, p.post("/jobs/"+text(id)+"/reveal", form, p.reader...), 200)
			if !strings.Contains(a.body, hidden) || !strings.Contains(a.body, "90071992547409931234.50") || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%v: not shown digit by digit, or kept: %v %s", form, a.header, excerpt(a.body))
			}
			holds(t, "revealed", a.body, kept)
			if form.Get("as") == "page" && !strings.Contains(a.body, "stands where a rule keeps a value from everybody") {
				t.Errorf("the page does not say what the cover means: %s", excerpt(a.body))
			}
		}
		a := want(t, p.send("GET", "/api/v1/jobs/"+text(id), "", p.token...), 200)
		if !strings.Contains(a.body, hidden) || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the API keeps it from who may reveal: %v %s", a.header, a.body)
		}
	}
	holds(t, "a downloaded result", want(t, p.post("/jobs/"+text(p.done)+"/reveal", fields("as", "file", "part", "result"), p.reader...), 200).body, kept)
	// What nobody may see is not said to need a right.
	const why = "A rule keeps it from everybody."
	for _, header := range [][]string{p.operator, p.reader} {
		job := want(t, p.send("GET", "/jobs/"+text(p.failed), "", header...), 200).body
		for _, part := range []string{public, "the card ••• was refused for " + hidden + " as from before the rules: •••", "standard error is kept back. " + why} {
			if !strings.Contains(job, part) {
				t.Errorf("the page lacks %q", part)
			}
		}
	}
	var recorded string
	if err := p.owner.QueryRow(p.ctx, `select string_agg(distinct actor, ', ' order by actor) || ' ' || count(*) from fenceline.audit where action = 'reveal' and outcome = 'done'`).Scan(&recorded); err != nil || recorded != "admin, admin/sees, reader 9" {
		t.Errorf("recorded: %s, %v", recorded, err)
	}
}

// leaveNoTrace: not in streams, tables, notifications and logs, also when
// something is refused or breaks.
func (p *planted) leaveNoTrace(t *testing.T) {
	form := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, p.operator...)
	for path, bad := range map[string]string{"/jobs/" + text(p.done) + "/terminate": "reason=" + hidden + "&seen=x", "/jobs/search": "q=args.x:" + hidden + "\"" + kept} {
		p.send("POST", path, bad, form...)
	}
	p.send("POST", "/api/v1/jobs", `{"kind":"x","args":"`+hidden+kept+`"`, p.token...)
	p.send("POST", "/api/v1/jobs", `{"kind":"x","args":{"`+kept+`":"\ud800"}}`, p.token...)
	holds(t, "the answer to a panic", want(t, p.post("/drill", nil, p.admin...), 500).body, hidden, kept)

	for name, s := range p.streams {
		for _, e := range s.all() {
			holds(t, "the stream "+name, e.data, kept)
			if name != "seen" && name != "failed" {
				holds(t, "the stream "+name, e.data, hidden)
			}
		}
	}
	rows, err := p.owner.Query(p.ctx, `select table_name from information_schema.tables where table_schema = 'fenceline' and table_type = 'BASE TABLE' and table_name not in ('jobs')`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		secrets := []string{hidden, kept, key}
		switch {
		case table == "attempt_errors":
			p.exec(`update fenceline.attempt_errors set message = replace(message, ' as from before the rules: ` + kept + `', '')`)
			secrets = []string{kept}
		case table == "attempt_outputs":
			secrets = []string{kept}
		case table == "searches":
			secrets = []string{kept} // what was asked is kept under an id; see [store.Store.KeepSearch]
		}
		for _, secret := range secrets {
			var n int
			if err := p.owner.QueryRow(p.ctx, `select count(*) from fenceline.`+table+` t where strpos(t::text, $1) > 0`, secret).Scan(&n); err != nil || n != 0 {
				t.Errorf("the table %s holds %s %d times, %v", table, secret, n, err)
			}
		}
	}
	holds(t, "a notification", p.heard(), hidden, kept, key)
	log := p.log()
	holds(t, "the log", log, hidden, kept, key, strings.TrimPrefix(p.token[3], "Bearer "), strings.TrimPrefix(p.admin[1], "fenceline="))
	for _, part := range []string{`"route":"/jobs/:id"`, `panic with a string`, `web_test.fragile.Start`} {
		if !strings.Contains(log, part) {
			t.Errorf("the log lacks %s", part)
		}
	}
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
