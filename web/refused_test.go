package web_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web/access"
)

// refusalsIn are the entries of the audit with a route, oldest first.
func (c *console) refusalsIn() []string {
	c.t.Helper()
	rows, err := c.owner.Query(c.ctx, `
		select actor || ' ' || action || ' ' || outcome || ' ' || coalesce(job_id, 0) || ' ' || (detail ->> 'route') || ' ' || (detail ->> 'times')
		from fenceline.audit where detail ? 'route' and detail ->> 'address' = '127.0.0.1' and reason is null order by id`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			c.t.Fatal(err)
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func TestWhatIsRefusedToSomebodyKnownIsRecorded(t *testing.T) {
	c := signing(t)
	id := text(c.enqueue(store.Request{}))
	c.person("mailer", store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightReveal}, Queues: []string{"mail"}})
	token := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "operator", "deploy", store.Powers{Role: store.RoleViewer}, time.Hour, access.Hash(token)); err != nil {
		t.Fatal(err)
	}
	viewer, mailer := c.as("viewer"), c.as("mailer")
	order := fields("reason", "what somebody typed", "seen", "1")
	json := []string{"Content-Type", "application/json"}

	want(t, c.post("/jobs/"+id+"/terminate", order, viewer...), 403)
	want(t, c.post("/jobs/"+id+"/reveal", fields("as", "page"), viewer...), 403)
	want(t, c.post("/jobs/"+id+"/terminate", order, mailer...), 403)
	want(t, c.post("/queues/pause", fields("scope", "all", "reason", "x", "seen", "0"), mailer...), 403)
	want(t, c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, append(json, "Authorization", "Bearer "+token)...), 403)
	want(t, c.send("POST", "/jobs/"+id+"/terminate", order.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-site"}, c.as("admin")...)...), 403)
	want(t, c.send("POST", "/api/v1/jobs/"+id+"/terminate", `{}`, append(json, c.as("admin")...)...), 403) // a cookie, and no page
	want(t, c.send("GET", "/audit", "", viewer...), 403)

	// Of nobody in particular there is no entry, nor of what was not a matter of rights.
	want(t, c.post("/jobs/"+id+"/terminate", order), 401)
	want(t, c.post("/jobs/"+id+"/terminate", order, "Sec-Fetch-Site", "cross-site"), 403)
	want(t, c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, append(json, "Authorization", "Bearer "+access.NewToken())...), 401)
	want(t, c.post("/jobs/"+id+"/terminate", fields("reason", "", "seen", "1"), c.as("operator")...), 422)
	want(t, c.send("GET", "/nothing", "", viewer...), 404)

	expect := []string{
		"viewer terminate role " + id + " POST /jobs/:id/terminate 1",
		"viewer reveal right " + id + " POST /jobs/:id/reveal 1",
		"mailer terminate queue " + id + " POST /jobs/:id/terminate 1",
		"mailer pause queue 0 POST /queues/pause 1",
		"operator/deploy enqueue role 0 POST /api/v1/jobs 1",
		"admin terminate cross_origin " + id + " POST /jobs/:id/terminate 1",
		"admin terminate cross_origin " + id + " POST /api/v1/jobs/:id/terminate 1",
		"viewer look role 0 GET /audit 1",
	}
	if got := c.refusalsIn(); strings.Join(got, "\n") != strings.Join(expect, "\n") {
		t.Errorf("recorded are\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(expect, "\n"))
	}
	if page := want(t, c.send("GET", "/audit?action=reveal&outcome=right", "", c.as("admin")...), 200); !strings.Contains(page.body, "POST /jobs/:id/reveal") {
		t.Errorf("the page does not show it: %s", excerpt(page.body))
	}
}

func TestAFloodOfRefusalsDoesNotFillTheAudit(t *testing.T) {
	c := signing(t)
	var now atomic.Pointer[time.Time]
	at := time.Now()
	now.Store(&at)
	c.SetClock(func() time.Time { return *now.Load() })
	viewer := c.as("viewer")
	for range 120 {
		want(t, c.post("/queues/pause", fields(), viewer...), 403)
	}
	var entries []string
	for _, line := range c.refusalsIn() {
		entries = append(entries, line[strings.LastIndexByte(line, ' ')+1:])
	}
	if got := strings.Join(entries, " "); got != "1 10 100" {
		t.Errorf("of 120 refusals those are recorded: %s", got)
	}
	for _, r := range c.Routes() { // one of each
		if r.Method == "POST" && r.Path != "/sign-out" {
			c.attempt(r, viewer...)
		}
	}
	if got := len(c.refusalsIn()); got != 20 {
		t.Errorf("%d entries of one person in one minute", got)
	}
	other := c.as("operator")
	want(t, c.post("/jobs/1/reveal", fields("as", "page"), other...), 403)
	if got := len(c.refusalsIn()); got != 21 {
		t.Errorf("%d entries: one person's flood hides another", got)
	}
	later := at.Add(time.Minute)
	now.Store(&later)
	want(t, c.post("/queues/pause", fields(), viewer...), 403)
	if got := c.refusalsIn(); got[len(got)-1] != "viewer pause role 0 POST /queues/pause 1" {
		t.Errorf("a minute later: %s", got[len(got)-1])
	}
}
