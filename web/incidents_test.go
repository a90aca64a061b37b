package web_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/notice"
	"github.com/fenceline/fenceline/web"
)

func TestAnIncidentIsTakenNotedAndResolvedOnItsPageAndByTheAPI(t *testing.T) {
	c := open(t)
	found := store.Sighting{Rule: "crash-loop", Scope: "job 7", Severity: "high", What: "Job 7 of kind <b>report</b> lost its lease 3 times.", N: 3, Job: 7, Search: "id:7", Types: []store.Type{store.TypeExpired}}
	if _, err := c.store.Watch(c.ctx, []store.Sighting{found}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/":                    "A job loses its lease again and again",
		"/incidents":           "nobody has it",
		"/incidents/1":         "&lt;b&gt;report&lt;/b&gt;",
		"/api/v1/incidents":    `"scope":"job 7"`,
		"/api/v1/incidents/1":  `"action":"opened"`,
		"/incidents/99":        "no such incident",
		"/api/v1/incidents/99": "not_found",
		"/api/v1/incidents/x":  `"field":"id"`,
	} {
		if got := c.get(path); !strings.Contains(got.body, want) || got.status >= 500 {
			t.Errorf("%s: %d does not say %q", path, got.status, want)
		}
	}
	act := func(do, seen, reason string) answer {
		return c.post("/incidents/1/change", url.Values{"do": {do}, "seen": {seen}, "reason": {reason}, "for": {""}, "severity": {"high"}})
	}
	if got := act("acknowledge", "1", ""); got.status != 303 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := act("resolve", "1", "typed words"); got.status != 409 || !strings.Contains(got.body, "You saw revision 1") || !strings.Contains(got.body, "typed words") {
		t.Errorf("%d: a stale action", got.status)
	}
	stale := want(t, c.post("/incidents/1/change", url.Values{"do": {"severity"}, "seen": {"1"}, "for": {"8h30m"}, "severity": {"low"}}), 409).body
	if !strings.Contains(stale, `value="8h30m"`) || !strings.Contains(stale, `value="low" selected`) {
		t.Error("what was typed and chosen beside the reason is lost with a stale action")
	}
	if got := act("resolve", "2", ""); got.status != 422 || !strings.Contains(got.body, "is required") {
		t.Errorf("%d: a resolve without a reason", got.status)
	}
	if got := act("note", "1", "looked at the host"); got.status != 303 {
		t.Errorf("%d: a note is bound to nothing", got.status)
	}
	for body, want := range map[string]string{
		`{"action": "resolve", "reason": "x", "seen": {"revision": 1}}`:   `"code":"changed"`,
		`{"action": "resolve", "reason": "x"}`:                            `"field":"seen"`,
		`{"action": "snooze", "seen": {"revision": 2}, "for": "soon"}`:    `"field":"for"`,
		`{"action": "shout", "seen": {"revision": 2}}`:                    `"field":"action"`,
		`{"action": "severity", "severity": "x", "seen": {"revision":2}}`: `"field":"severity"`,
	} {
		if got := c.api("/api/v1/incidents/1/change", body); got.status < 400 || got.status >= 500 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := c.api("/api/v1/incidents/1/change", `{"action": "resolve", "reason": "job 7 is terminated", "seen": {"revision": 2}}`); got.status != 200 || !strings.Contains(got.body, `"state":"resolved"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	c.reports(`job 7 is terminated`)
	if got := c.get("/incidents/1").body; !strings.Contains(got, "job 7 is terminated") || !strings.Contains(got, "looked at the host") || strings.Contains(got, `value="resolve"`) {
		t.Error("the page of the resolved incident does not tell what was done, or offers to resolve it")
	}
	// What lingers does not move when it was found last.
	last := c.get("/api/v1/incidents/1").json(t)
	if _, err := c.store.Watch(c.ctx, []store.Sighting{found}, time.Hour); err != nil {
		t.Fatal(err)
	}
	now := c.get("/api/v1/incidents/1").json(t)
	if now["found_at"] != last["found_at"] || now["found_at"].(string) > now["resolved_at"].(string) || now["state"] != "resolved" {
		t.Errorf("found last at %v, and then at %v", last["found_at"], now["found_at"])
	}
	for _, path := range []string{"/incidents", "/incidents/1"} {
		if shown := regexp.MustCompile(`Found last(">|</dt> ?<dd>)<time [^>]*data-show="(\w+)"`).FindStringSubmatch(c.get(path).body); shown == nil || shown[2] != "moment" {
			t.Errorf("%s counts from when a resolved incident was found last: %q", path, shown)
		}
	}
}

// reports holds the reports of incident 1 to the document and to what they say.
func (c *console) reports(words string) {
	c.t.Helper()
	d := readSpecification(c.t)
	got := want(c.t, c.get("/api/v1/incidents/1/report"), 200)
	if wrong := d.fits("report", d.Components.Schemas["IncidentReport"], any(got.json(c.t))); wrong != "" || !strings.Contains(got.body, words) {
		c.t.Errorf("%s in %s", wrong, excerpt(got.body))
	}
	for path, kind := range map[string]string{"/incidents/1/report": "text/markdown", "/incidents/1/report?format=json": "application/json", "/api/v1/incidents/1/report?format=markdown": "text/markdown"} {
		got := want(c.t, c.get(path), 200)
		if !strings.HasPrefix(got.header.Get("Content-Type"), kind) || !strings.Contains(got.header.Get("Content-Disposition"), `attachment; filename="incident-1.`) || !strings.Contains(got.body, words) {
			c.t.Errorf("%s: %v %s", path, got.header, excerpt(got.body))
		}
		if opened := regexp.MustCompile(`\| Opened \| \d{4}-\d\d-\d\d \d\d\\?:\d\d\\?:\d\d UTC \|`); strings.HasPrefix(kind, "text") && !opened.MatchString(got.body) {
			c.t.Errorf("%s does not say in which zone it was opened: %s", path, excerpt(got.body))
		}
		if strings.HasPrefix(kind, "text") && !strings.Contains(got.body, `\<b\>report\</b\>`) {
			c.t.Errorf("%s: %s", path, excerpt(got.body))
		}
	}
	for path, status := range map[string]int{"/incidents/99/report": 404, "/api/v1/incidents/x/report": 422, "/incidents/1/report?format=pdf": 422, "/api/v1/incidents/1/report?colour=1": 422} {
		want(c.t, c.get(path), status)
	}
	if got := want(c.t, c.get("/api/v1/incidents/1?colour=1"), 422); !strings.Contains(got.body, "it has none") {
		c.t.Error(got.body)
	}
}

func TestAnOpenPageOfAnIncidentFollowsIt(t *testing.T) {
	c := open(t)
	s := c.follow("/stream?topic=incidents&topic=incident:1")
	if _, err := c.store.Watch(c.ctx, []store.Sighting{{Rule: "backlog", Scope: "queue mail", Severity: "medium", What: "late"}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	s.await("shows the incident", patch(`id="active"`, "Work waits longer than its objective"))
}

func TestAMergedIncidentLeadsToTheOneThatGoesOnAndItsJobsAreActedOnThere(t *testing.T) {
	c := open(t)
	job := c.enqueue(store.Request{Kind: "report"})
	c.claim("a", "report", 3*time.Second)
	c.exec("update fenceline.jobs set lease_until = clock_timestamp() where id = $1", job)
	if _, err := c.store.Expire(c.ctx, 10, store.DefaultBackoff); err != nil {
		t.Fatal(err)
	}
	if _, err := c.store.Watch(c.ctx, []store.Sighting{
		{Rule: "backlog", Scope: "queue mail", Queue: "mail", Severity: "medium", What: "late"},
		{Rule: "expiry-spike", Severity: "high", What: "lost", Types: []store.Type{store.TypeExpired}},
	}, time.Hour); err != nil {
		t.Fatal(err)
	}
	merge := func(into string) answer {
		return c.post("/incidents/2/change", url.Values{"do": {"merge"}, "seen": {"1"}, "reason": {"one cause"}, "into": {into}})
	}
	for into, says := range map[string]string{"": "another incident", "x": "another incident", "2": "another incident", "77": "does not exist"} {
		if got := want(t, merge(into), 422); !strings.Contains(got.body, says) || !strings.Contains(got.body, "one cause") {
			t.Errorf("into %q: %s", into, excerpt(got.body))
		}
	}
	for body, says := range map[string]string{
		`{"action":"merge","seen":{"revision":1}}`:             `"field":"into"`,
		`{"action":"merge","seen":{"revision":1},"into":"-1"}`: `"field":"into"`,
		`{"action":"merge","seen":{"revision":1},"into":1}`:    `"field":"into"`,
		`{"action":"merge","seen":{"revision":7},"into":"1"}`:  `"code":"changed"`,
	} {
		if got := c.api("/api/v1/incidents/2/change", body); got.status < 400 || got.status >= 500 || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := c.get("/incidents/1").body; strings.Contains(got, "Act on its jobs") {
		t.Error("an action on no jobs is offered")
	}
	want(t, merge("1"), 303)
	want(t, merge("1"), 409)
	d := readSpecification(t)
	for id, says := range map[string][]string{
		"1": {"Holds", `href="/incidents/2"`, "of incident 2", "Act on its jobs", `value="incident:1"`},
		"2": {"Part of", `href="/incidents/1"`},
	} {
		page := c.get("/incidents/" + id).body
		for _, words := range says {
			if !strings.Contains(page, words) {
				t.Errorf("the page of incident %s does not say %q", id, words)
			}
		}
		if wrong := d.fits("view", d.Components.Schemas["IncidentView"], any(want(t, c.get("/api/v1/incidents/"+id), 200).json(t))); wrong != "" {
			t.Error(wrong)
		}
	}
	preview := want(t, c.post("/operations", url.Values{"q": {"incident:1"}, "do": {"requeue matching"}}), 303)
	if got := c.get(preview.header.Get("Location")).body; !strings.Contains(got, "touched by incident") {
		t.Errorf("the preview of the incident's jobs: %s", excerpt(got))
	}
	// Once begun it stands on the incident's timeline, with its end, and in the report.
	want(t, c.post("/operations/1/confirm", url.Values{"seen": {"1"}, "reason": {"the host is back"}, "pace": {"60"}}), 303)
	if _, err := c.store.StepOperation(c.ctx, "worker-seven"); err != nil {
		t.Fatal(err)
	}
	page := want(t, c.get("/incidents/1"), 200).body
	for _, words := range []string{"requeue of 1 job begun, 60 jobs a minute", "the host is back", `href="/operations/1"`, "requeue finished: ", "worker-seven"} {
		if !strings.Contains(page, words) {
			t.Errorf("the timeline does not say %q", words)
		}
	}
	for path, schema := range map[string]string{"/api/v1/incidents/1": "IncidentView", "/api/v1/incidents/1/report": "IncidentReport"} {
		got := want(t, c.get(path), 200)
		if wrong := d.fits(schema, d.Components.Schemas[schema], any(got.json(t))); wrong != "" {
			t.Error(wrong)
		}
		if !regexp.MustCompile(`"operation":\s*\{\s*"id":\s*"1",\s*"does":\s*"requeue",\s*"total":\s*1,\s*"dealt_with":\s*0,\s*"changed":\s*0,\s*"pace":\s*60\s*\}`).MatchString(got.body) {
			t.Errorf("%s does not tell of the operation's beginning: %s", path, got.body)
		}
	}
	if got := c.get("/incidents/1/report").body; !strings.Contains(got, "requeue of 1 job begun, 60 jobs a minute (operation 1)") || !strings.Contains(got, "requeue finished") {
		t.Errorf("the report does not tell of the operation: %s", got)
	}
}

func TestWhoIsToldOfIncidentsIsShownAndTried(t *testing.T) {
	night := &notice.Hours{From: 22 * time.Hour, To: 7 * time.Hour, Zone: time.UTC, Severity: detect.High}
	c := open(t, func(cfg *web.Config) {
		cfg.Console = "https://fenceline.example"
		cfg.Notices = []notice.Rule{{Target: "pager", Format: notice.PagerDuty, Severity: detect.High}, {Target: "<b>room</b>", Format: notice.Slack, Severity: detect.Medium, Every: time.Minute, Quiet: night}}
	})
	page := want(t, c.get("/incidents"), 200).body
	for _, words := range []string{"pagerduty", "&lt;b&gt;room&lt;/b&gt;", "22:00 to 07:00 UTC", "never", "Send a test"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	want(t, c.post("/notices/test", url.Values{"target": {"nobody"}}), 422)
	sent := want(t, c.post("/notices/test", url.Values{"target": {"<b>room</b>"}}), 303)
	if got := want(t, c.get(sent.header.Get("Location")), 200).body; !strings.Contains(got, "The message is on its way") {
		t.Errorf("after a test: %s", excerpt(got))
	}
	for body, says := range map[string]string{`{}`: `"field":"target"`, `{"target":"nobody"}`: `"field":"target"`, `{"target":7}`: `"field":"target"`} {
		if got := want(t, c.api("/api/v1/notices/test", body), 422); !strings.Contains(got.body, says) {
			t.Errorf("%s: %s", body, got.body)
		}
	}
	if got := want(t, c.api("/api/v1/notices/test", `{"target":"pager"}`), 200); !strings.Contains(got.body, `"job_id":"2"`) {
		t.Error(got.body)
	}
	d := readSpecification(t)
	told := want(t, c.get("/api/v1/notices"), 200)
	for _, n := range told.json(t)["notices"].([]any) {
		if wrong := d.fits("notice", d.Components.Schemas["Notice"], n); wrong != "" {
			t.Error(wrong)
		}
	}
	if !strings.Contains(told.body, `"told_by":"1"`) || !strings.Contains(told.body, `"every":"1m0s"`) {
		t.Error(told.body)
	}
	if empty := c.another(func(cfg *web.Config) { cfg.Notices = nil }).get("/incidents").body; !strings.Contains(empty, "Nobody: no target is configured") {
		t.Error("a console that tells nobody does not say so")
	}
}
