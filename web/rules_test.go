package web_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

// attempt makes a request to a route, so bare that its handler refuses it or has
// nothing to do: what matters is whether it is reached.
func (c *console) attempt(r web.Line, header ...string) int {
	c.t.Helper()
	path := strings.ReplaceAll(strings.ReplaceAll(r.Path, ":id", "1"), "*", "none")
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	body, kind := "", "application/x-www-form-urlencoded"
	if strings.HasPrefix(path, "/api/") {
		body, kind = "{}", "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if r.Method == "GET" {
		req.Header.Set("Sec-Fetch-Mode", "cors")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close() // of a stream, too: its head is the answer
	return resp.StatusCode
}

func TestEveryRouteHasARuleThatHoldsForEveryRole(t *testing.T) {
	c := signing(t)
	c.enqueue(store.Request{})
	c.person("reader", store.Powers{Role: store.RoleViewer, Rights: []store.Right{store.RightReveal}})
	c.person("mailer", store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightReveal, store.RightBulk}, Queues: []string{"mail"}})
	powers := map[string]store.Powers{
		"":         {},
		"viewer":   {Role: store.RoleViewer},
		"operator": {Role: store.RoleOperator},
		"admin":    {Role: store.RoleAdmin},
		"reader":   {Role: store.RoleViewer, Rights: []store.Right{store.RightReveal}},
		"mailer":   {Role: store.RoleOperator, Rights: []store.Right{store.RightReveal, store.RightBulk}, Queues: []string{"mail"}},
	}
	known := web.Rules()
	seen := map[string]bool{}
	for _, r := range c.Routes() {
		name := r.Method + " " + r.Path
		rule, has := known[name]
		if !has {
			t.Errorf("%s has no rule: say in web/rules.go who may use it", name)
			continue
		}
		seen[name] = true
		for who, p := range powers {
			var header []string
			if who != "" {
				header = c.as(who)
			}
			got, may := c.attempt(r, header...), rule.Allows(p, "default")
			if rule.Named() && p.Queues != nil {
				continue // see TestWhoMayActInSomeQueuesActsThereOnly
			}
			switch refused := got == 401 && name != "POST /sign-in" || got == 403 || got == 303 && who == ""; {
			case may && refused:
				t.Errorf("%q is refused %s: %d", who, name, got)
			case !may && who == "" && got != 401:
				t.Errorf("nobody in particular gets %d from %s", got, name)
			case !may && who != "" && got != 403:
				t.Errorf("%q gets %d from %s", who, got, name)
			}
			if got >= 500 {
				t.Errorf("%q gets %d from %s", who, got, name)
			}
		}
	}
	for name := range known {
		if !seen[name] && !strings.HasSuffix(name, "/metrics") {
			t.Errorf("there is a rule for %s, and no such route", name)
		}
	}
}

func TestWhoMayActInSomeQueuesActsThereOnly(t *testing.T) {
	c := signing(t)
	c.person("mailer", store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightReveal}, Queues: []string{"mail"}})
	me := c.as("mailer")
	mine, other := text(c.enqueue(store.Request{Queue: "mail"})), text(c.enqueue(store.Request{}))
	want(t, c.post("/jobs/"+other+"/terminate", fields("reason", "x", "seen", "1"), me...), 403)
	want(t, c.post("/jobs/"+other+"/reveal", fields("as", "page"), me...), 403)
	want(t, c.post("/jobs/"+mine+"/reveal", fields("as", "page"), me...), 200)
	want(t, c.post("/jobs/"+mine+"/terminate", fields("reason", "x", "seen", "1"), me...), 303)
	pause := func(scope, name string) answer {
		return c.post("/queues/pause", fields("scope", scope, "name", name, "reason", "x", "seen", "0"), me...)
	}
	want(t, pause("queue", "default"), 403)
	want(t, pause("kind", "report"), 403)
	want(t, pause("all", ""), 403)
	want(t, pause("queue", "mail"), 303)
	// Which jobs hold a value is told of these queues only, whichever way it is asked.
	program := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "mailer", "looks", store.Powers{Role: store.RoleViewer, Rights: []store.Right{store.RightReveal}}, time.Hour, access.Hash(program)); err != nil {
		t.Fatal(err)
	}
	for q, status := range map[string]int{"args.n:1": 403, "-queue:mail args.n:1": 403, "queue:m* args.n:1": 403, "queue:mail,default args.n:1": 403, "queue:mail args.n:1": 201} {
		want(t, c.send("POST", "/api/v1/searches", `{"q":"`+q+`"}`, "Authorization", "Bearer "+program, "Content-Type", "application/json"), status)
	}
	q, err := search.Parse("args.n:1")
	if err != nil {
		t.Fatal(err)
	}
	byAdmin, err := c.store.KeepSearch(c.ctx, q, "admin")
	if err != nil {
		t.Fatal(err)
	}
	for path, status := range map[string]int{
		"/jobs?search=" + byAdmin.String(): 403, "/jobs?queue=mail&search=" + byAdmin.String(): 200, "/stream?topic=" + url.QueryEscape("jobs:search="+byAdmin.String()): 403,
		"/jobs?q=error:x": 403, "/jobs?q=-error:x": 403, "/jobs?q=error:x+queue:mail": 200, "/jobs?q=error:x&queue=default": 403,
	} {
		want(t, c.send("GET", path, "", me...), status)
	}
	viewer := c.as("viewer")
	for _, path := range []string{"/jobs?q=error:x", "/jobs?q=-error:x", "/stream?topic=" + url.QueryEscape("jobs:q=-error:x"), "/jobs?queue=mail&search=" + byAdmin.String()} {
		want(t, c.send("GET", path, "", viewer...), 403)
	}
	page := want(t, c.send("GET", "/jobs/"+other, "", me...), 200)
	if !strings.Contains(page.body, "You may not act in this queue.") || strings.Contains(page.body, `action="/jobs/`+other+`/terminate"`) {
		t.Errorf("the buttons do not say why: %s", excerpt(page.body))
	}
}

func TestPagesSayWhatAPersonMayNotDoAlsoThroughTheStream(t *testing.T) {
	c := signing(t, func(cfg *web.Config) { cfg.Heartbeat = 50 * time.Millisecond })
	id := c.enqueue(store.Request{})
	page := want(t, c.send("GET", "/jobs/"+text(id), "", c.as("viewer")...), 200)
	if strings.Contains(page.body, "<form method=\"post\" action=\"/jobs/"+text(id)) || !strings.Contains(page.body, "Your role is viewer; acting needs operator.") {
		t.Errorf("a viewer is offered what is refused: %s", excerpt(page.body))
	}
	if _, err := c.store.Watch(c.ctx, []store.Sighting{{Rule: "backlog", Severity: "low", What: "late"}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	operation := want(t, c.post("/operations", fields("do", "terminate matching", "q", "id:"+text(id)), c.as("admin")...), 303).header.Get("Location")
	for path, button := range map[string]string{"/": "Run the drill", "/jobs": "Requeue ticked…", "/incidents/1": "Resolve", operation: "Terminate 1 job"} {
		button := regexp.MustCompile(`<button[^>]*>` + button + `</button>`)
		for who, mayNot := range map[string]bool{"viewer": true, "admin": false} {
			body := want(t, c.send("GET", path, "", c.as(who)...), 200).body
			is := button.FindString(body)
			if is == "" || strings.Contains(is, " disabled") != mayNot || strings.Contains(body, "Your role is viewer; acting needs operator.") != mayNot {
				t.Errorf("%s shows a person with the role %s %q", path, who, is)
			}
		}
	}
	sees := func(who string) string {
		s := c.follow("/stream?topic=job:"+text(id), c.as(who)...)
		defer s.close()
		return s.await("shows the job", patch("job-"+text(id)+"-head")).data
	}
	viewer, admin := sees("viewer"), sees("admin")
	if strings.Contains(viewer, "/terminate") || !strings.Contains(viewer, "acting needs operator") {
		t.Errorf("the stream offers a viewer what is refused: %s", excerpt(viewer))
	}
	if !strings.Contains(admin, "/terminate") {
		t.Errorf("the stream keeps an admin from acting: %s", excerpt(admin))
	}
}

func TestAStreamEndsWithTheSessionAndWithTheRight(t *testing.T) {
	c := signing(t, func(cfg *web.Config) { cfg.Heartbeat = 50 * time.Millisecond })
	id := c.enqueue(store.Request{})
	for what, end := range map[string]string{
		"the session": `delete from fenceline.sign_ins`,
		"the right":   `update fenceline.people set role = 'viewer'`,
		"the account": `delete from fenceline.people where name = 'operator'`,
	} {
		for _, path := range []string{"/stream?topic=job:" + text(id), "/api/v1/jobs/" + text(id) + "/transitions/stream"} {
			c.exec(`delete from fenceline.people where name = 'operator'`)
			c.person("operator", store.Powers{Role: store.RoleOperator})
			s := c.follow(path, c.as("operator")...)
			s.await("lives", named("beat"))
			c.exec(end)
			c.eventually("the end of "+path+" with "+what, func() bool {
				select {
				case <-s.done:
					return true
				default:
					return false
				}
			})
			s.close()
		}
	}
}

func TestAProgramActsWithATokenAndWithinIt(t *testing.T) {
	c := signing(t)
	id := text(c.enqueue(store.Request{Args: []byte(`{"card":"4111"}`)}))
	add := func(person, name string, p store.Powers) []string {
		t.Helper()
		token := access.NewToken()
		if err := c.store.AddToken(c.ctx, "test", person, name, p, time.Hour, access.Hash(token)); err != nil {
			t.Fatal(err)
		}
		return []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	}
	looks := add("admin", "looks", store.Powers{Role: store.RoleViewer})
	acts := add("operator", "acts", store.Powers{Role: store.RoleAdmin}) // no further than its person
	sees := add("admin", "sees", store.Powers{Role: store.RoleViewer, Rights: []store.Right{store.RightReveal}})
	a := want(t, c.get("/api/v1/jobs"), 401)
	if code, _ := a.fault(t); code != "unauthorized" || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("%s %v", code, a.header)
	}
	if a := want(t, c.send("GET", "/api/v1/jobs/"+id, "", looks...), 200); strings.Contains(a.body, "4111") {
		t.Error("a token without the right to reveal shows a payload")
	}
	if a := want(t, c.send("GET", "/api/v1/jobs/"+id, "", sees...), 200); !strings.Contains(a.body, "4111") {
		t.Error("a token with the right to reveal shows no payload")
	}
	end := `{"reason":"x","seen":{"revision":1}}`
	want(t, c.send("POST", "/api/v1/jobs/"+id+"/terminate", end, looks...), 403)
	if a := want(t, c.send("POST", "/api/v1/jobs/"+id+"/terminate", end, acts...), 200); strings.Contains(a.body, "4111") {
		t.Error("a token shows more than its person may see")
	}
	all := c.transitions(1)
	if got := all[len(all)-1].Actor; got != "operator/acts" {
		t.Errorf("recorded as %q", got)
	}
	for what, header := range map[string][]string{
		"no token":      {"Authorization", "Bearer x"},
		"another":       {"Authorization", "Bearer " + access.NewToken()},
		"another way":   {"Authorization", "Basic YWRtaW46YWRtaW4="},
		"with a cookie": append([]string{"Authorization", "Bearer x"}, c.as("admin")...),
		"its hash":      {"Authorization", "Bearer " + access.Hash(strings.TrimPrefix(looks[1], "Bearer "))},
	} {
		if got := c.send("GET", "/api/v1/jobs", "", header...).status; got != 401 {
			t.Errorf("%s gets %d", what, got)
		}
	}
	want(t, c.send("GET", "/jobs", "", looks...), 303) // pages are for people
	want(t, c.send("POST", "/api/v1/jobs/"+id+"/requeue", end, append(c.as("admin"), "Content-Type", "application/json")...), 403)
	var revealed string
	if err := c.owner.QueryRow(c.ctx, `select string_agg(actor, ', ') from fenceline.audit where action = 'reveal' and outcome = 'done'`).Scan(&revealed); err != nil || revealed != "admin/sees" {
		t.Errorf("recorded reveals: %s, %v", revealed, err)
	}
	var used bool
	if err := c.owner.QueryRow(c.ctx, `select bool_and(used_at is not null and token_hash not like 'fnc%') from fenceline.tokens`).Scan(&used); err != nil || !used {
		t.Errorf("%v %v", used, err)
	}
	c.exec(`update fenceline.tokens set expires_at = now()`)
	want(t, c.send("GET", "/api/v1/jobs", "", looks...), 401)
}
