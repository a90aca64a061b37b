package web_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web"
)

func TestTheAuditIsShownFilteredAndExportedWhole(t *testing.T) {
	c := open(t)
	var ids []int64
	for range 3 {
		ids = append(ids, c.enqueue(store.Request{}))
	}
	const hostile = "=HYPERLINK(\"x\") <b>\n\"quoted\", ünïcödé"
	want(t, c.post("/jobs/"+text(ids[0])+"/terminate", url.Values{"reason": {hostile}, "seen": {"1"}}), 303)
	want(t, c.post("/jobs/"+text(ids[0])+"/terminate", url.Values{"reason": {"again"}, "seen": {"1"}}), 409)
	want(t, c.post("/jobs/"+text(ids[1])+"/reveal", url.Values{"as": {"page"}}), 200)
	want(t, c.post("/queues/pause", url.Values{"scope": {"queue"}, "name": {"a/b%2F"}, "seen": {"0"}, "reason": {"look"}}), 303)
	c.exec("insert into fenceline.audit (actor, action, outcome) select 'crowd', 'reveal', 'done' from generate_series(1, 2500)")

	page := want(t, c.get("/audit?actor=local"), 200).body
	for _, part := range []string{"changed", "reveal", "a/b%2F", `href="/jobs/` + text(ids[0]) + `"`, "/audit/export?actor=local&amp;format=csv", "&lt;b&gt;"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q: %s", part, excerpt(page))
		}
	}
	if strings.Contains(page, "<b>\n") || strings.Count(page, "<tr>") != 5 {
		t.Errorf("%d rows", strings.Count(page, "<tr>"))
	}
	if first := want(t, c.get("/audit"), 200).body; !strings.Contains(first, `rel="next" href="/audit?after=`) {
		t.Error("the first page leads to no other")
	}
	for query, field := range map[string]string{"job=x": "job", "from=soon": "from", "to=2026-13-01": "to", "from=2026-02-01&to=2026-01-01": "to", "operation=-1": "operation", "after=x": "after", "limit=0": "limit", "actor=" + strings.Repeat("x", 300): "actor"} {
		if got := want(t, c.get("/audit?"+query), 422); !strings.Contains(got.body, "<b>"+field+"</b>") {
			t.Errorf("%s: %s", query, excerpt(got.body))
		}
		if _, got := want(t, c.get("/api/v1/audit?"+query), 422).fault(t); got != field {
			t.Errorf("%s: field %q, want %q", query, got, field)
		}
	}
	for path, n := range map[string]int{"job=" + text(ids[0]): 2, "action=reveal&actor=local": 1, "outcome=changed": 1, "from=2001-01-01&to=2001-02-01": 0, "actor=local&limit=2": 2} {
		got := want(t, c.get("/api/v1/audit?"+path), 200).json(t)
		if entries := got["entries"].([]any); len(entries) != n || (got["next"] != nil) != strings.Contains(path, "limit") {
			t.Errorf("%s: %v", path, got)
		}
	}

	table := want(t, c.get("/audit/export?format=csv"), 200)
	rows, err := csv.NewReader(strings.NewReader(table.body)).ReadAll()
	if err != nil || len(rows) != 2505 || rows[0][0] != "id" || !strings.Contains(table.header.Get("Content-Disposition"), "fenceline-audit.csv") {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	found := false
	for _, row := range rows {
		found = found || row[8] == "'"+hostile
	}
	if !found {
		t.Error("the reason is another one in the table, or could be a formula")
	}
	lines := strings.Split(strings.TrimSuffix(want(t, c.get("/audit/export?format=jsonl&actor=local"), 200).body, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines", len(lines))
	}
	var last struct{ Action, Reason, Outcome string }
	if err := json.Unmarshal([]byte(lines[3]), &last); err != nil || last.Reason != hostile || last.Action != "terminate" || last.Outcome != "done" {
		t.Errorf("%+v %v", last, err)
	}
	want(t, c.get("/audit/export?format=xml"), 422)
	want(t, c.get("/audit/export?format=csv&job=x"), 422)
}

// The client reads nothing for a while, so that the server is in the middle: what
// it sends is more than any buffer between the two holds.
func TestALongExportEndsWithTheRight(t *testing.T) {
	c := signing(t, func(cfg *web.Config) { cfg.Heartbeat = time.Nanosecond })
	c.exec(`insert into fenceline.audit (actor, action, outcome, reason) select 'first', 'note', 'done', repeat('x', 1000) from generate_series(1, 14000)`)
	demote := func() {
		if _, err := c.store.SetPowers(c.ctx, "test", store.SeenPerson{Name: "operator"}, store.Powers{Role: store.RoleViewer}); err != nil {
			t.Fatal(err)
		}
	}
	disable := func() {
		if _, err := c.store.Disable(c.ctx, "test", store.SeenPerson{Name: "operator"}); err != nil {
			t.Fatal(err)
		}
	}
	signOut := func() { c.exec(`delete from fenceline.sign_ins`) }
	for _, a := range []struct {
		what, format string
		lose         func()
	}{{"demoted", "csv", demote}, {"disabled", "jsonl", disable}, {"signed out", "csv", signOut}, {"", "jsonl", func() {}}} {
		c.exec(`delete from fenceline.people where name = 'operator'`)
		c.person("operator", store.Powers{Role: store.RoleOperator})
		r, err := http.NewRequestWithContext(c.ctx, "GET", c.url+"/audit/export?actor=first&format="+a.format, nil)
		if err != nil {
			t.Fatal(err)
		}
		who := c.as("operator")
		r.Header.Set(who[0], who[1])
		resp, err := c.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		some := make([]byte, 100000)
		if _, err := io.ReadFull(resp.Body, some); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp.StatusCode, err)
		}
		a.lose()
		rest, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		lines := strings.Count(string(some)+string(rest), "\n")
		if whole := lines >= 14000 && err == nil; whole != (a.what == "") {
			t.Errorf("%s, %s: %d lines came, and then %v", a.what, a.format, lines, err)
		}
		if a.what != "" && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s, %s: a client takes it for whole: %v", a.what, a.format, err)
		}
	}
}
