package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// failed makes a job whose only attempt failed for good.
func (c *console) failed(r store.Request) int64 {
	c.t.Helper()
	r.Kind = "report"
	id := c.enqueue(r)
	l := c.claim("w", "report", time.Minute)
	if _, err := c.store.Fail(c.ctx, "w", []store.Failure{{Lease: l, Permanent: true, Reason: store.ReasonPermanent, Error: store.AttemptError{Class: "bad", Message: "no 4111"}}}); err != nil {
		c.t.Fatal(err)
	}
	return id
}

func TestAProgramDoesWithOneJobWhatAPersonCan(t *testing.T) {
	c := open(t)
	d := readSpecification(t)
	id := c.failed(store.Request{Args: json.RawMessage(`{"card":"4111","n":1.50}`), Tags: []string{"old"}})
	at := "/api/v1/jobs/" + text(id)
	post := func(verb, body string, status int) map[string]any {
		t.Helper()
		return d.told(t, want(t, c.api(at+"/"+verb, body), status), "post", "/api/v1/jobs/{id}/"+verb)
	}
	revision := func() string {
		j, err := c.store.Job(c.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return text(j.Revision)
	}
	body := func(more string) string {
		return `{"reason":"because","seen":{"revision":` + revision() + `}` + more + `}`
	}
	stale := body("")
	if j := post("requeue", body(`,"args":{"card":"4222","n":90071992547409931234.10}`), 200); j["args_version"] != json.Number("2") || j["state"] != "available" ||
		j["args"].(map[string]any)["n"] != json.Number("90071992547409931234.10") {
		t.Errorf("%v", j)
	}
	for _, verb := range []string{"requeue", "terminate", "amend", "note", "duplicate", "erase"} {
		sent := stale
		if verb == "amend" {
			sent = strings.Replace(stale, "}}", `},"priority":3}`, 1)
		}
		e := post(verb, sent, 409)["error"].(map[string]any)
		if e["code"] != "changed" || e["job"].(map[string]any)["state"] != "available" {
			t.Errorf("%s: %v", verb, e)
		}
	}
	j := post("amend", body(`,"priority":-5,"queue":"slow","run_at":"2099-01-01T00:00:00Z","max_attempts":20,"add_tag":"vip","remove_tag":"old","restore":"1"`), 200)
	if fmt.Sprintf("%v %v %v %v %v %v %v", j["priority"], j["queue"], j["state"], j["run_at"], j["max_attempts"], j["tags"], j["args_version"]) != "-5 slow scheduled 2099-01-01T00:00:00Z 20 [vip] 3" {
		t.Errorf("%v", j)
	}
	post("note", body(""), 200)
	request := `,"request_id":"` + uuid.NewString() + `"`
	once := body(request + `,"queue":"copies"`)
	copied := post("duplicate", once, 201)
	if again := post("duplicate", once, 201); again["id"] != copied["id"] || copied["queue"] != "copies" || copied["id"] == text(id) {
		t.Errorf("%v %v", copied, again)
	}
	kept := d.told(t, want(t, c.get(at+"/args"), 200), "get", "/api/v1/jobs/{id}/args")
	if list := kept["versions"].([]any); len(list) != 2 || list[1].(map[string]any)["reason"] != "because" || kept["version"] != json.Number("3") || strings.Contains(fmt.Sprint(kept), "4111") {
		t.Errorf("%v", kept)
	}
	if v := d.told(t, want(t, c.get(at+"/args/2"), 200), "get", "/api/v1/jobs/{id}/args/{version}"); v["args"].(map[string]any)["card"] != "4222" {
		t.Errorf("%v", v)
	}
	d.told(t, want(t, c.get(at+"/args/9"), 404), "get", "/api/v1/jobs/{id}/args/{version}")
	d.told(t, want(t, c.get(at+"/args/x"), 422), "get", "/api/v1/jobs/{id}/args/{version}")
	if e := post("erase", body(""), 409)["error"].(map[string]any); e["code"] != "not_ended" {
		t.Errorf("%v", e)
	}
	post("terminate", body(""), 200)
	if e := post("amend", body(`,"run_at":"2099-01-01T00:00:00Z"`), 409)["error"].(map[string]any); e["code"] != "already_ended" || e["field"] != "run_at" {
		t.Errorf("%v", e)
	}
	if j := post("erase", body(""), 200); j["args"] != nil || j["erased_at"] == nil || j["state"] != "terminated" {
		t.Errorf("%v", j)
	}
	if e := post("requeue", body(""), 409)["error"].(map[string]any); e["code"] != "erased" {
		t.Errorf("%v", e)
	}
	all := d.told(t, want(t, c.get(at+"/transitions"), 200), "get", "/api/v1/jobs/{id}/transitions")
	last := all["transitions"].([]any)[len(all["transitions"].([]any))-1].(map[string]any)
	if last["type"] != "erased" || last["reason"] != "because" || last["actor"] != "local" {
		t.Errorf("%v", last)
	}
	d.told(t, want(t, c.get("/api/v1/jobs/"+copied["id"].(string)+"/transitions"), 200), "get", "/api/v1/jobs/{id}/transitions")
	if leaves := c.get(at).body + c.get(at+"/transitions").body + c.get("/jobs/"+text(id)).body; strings.Contains(leaves, "4111") || strings.Contains(leaves, "4222") {
		t.Error("something of the payload is left")
	}

	for _, wrong := range []struct{ verb, more, field string }{
		{"amend", ``, "change"}, {"amend", `,"priority":40000`, "priority"}, {"amend", `,"priority":"1"`, "priority"}, {"amend", `,"priority":-5`, "priority"},
		{"amend", `,"queue":""`, "queue"}, {"amend", `,"queue":"a\nb"`, "queue"}, {"amend", `,"run_at":"soon"`, "run_at"}, {"amend", `,"max_attempts":2`, "max_attempts"},
		{"amend", `,"add_tag":"vip"`, "add_tag"}, {"amend", `,"remove_tag":"none"`, "remove_tag"}, {"amend", `,"state":"running"`, "state"},
		{"requeue", `,"args":1,"restore":1`, "restore"}, {"requeue", `,"restore":0`, "restore"}, {"requeue", `,"restore":1`, "restore"},
		{"requeue", `,"args":{"a":"\u0000"}`, "args.a"}, {"requeue", `,"priority":1`, "priority"}, {"requeue", `,"request_id":"x"`, "request_id"},
		{"duplicate", `,"request_id":"00000000-0000-0000-0000-000000000000"`, "request_id"}, {"note", `,"args":1`, "args"}, {"erase", `,"part":"args"`, "part"},
	} {
		e := post(wrong.verb, body(wrong.more), 422)["error"].(map[string]any)
		if e["field"] != wrong.field {
			t.Errorf("%s%s: %v", wrong.verb, wrong.more, e)
		}
	}
	var audited string
	if err := c.owner.QueryRow(c.ctx, `select string_agg(action || ' ' || outcome, ', ' order by id) from fenceline.audit where job_id = $1 and outcome = 'done'`, id).Scan(&audited); err != nil ||
		audited != "requeue done, amend done, note done, duplicate done, terminate done, erase done" {
		t.Errorf("%s %v", audited, err)
	}
}

func TestOtherArgsAndErasureAreBehindThePayloadsRules(t *testing.T) {
	c := signing(t)
	c.person("reader", store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightReveal}})
	c.person("mailer", store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightReveal}, Queues: []string{"default"}})
	id := c.failed(store.Request{Args: json.RawMessage(`{"card":"4111"}`)})
	at := "/jobs/" + text(id)
	revision := func() string { j, _ := c.store.Job(c.ctx, id); return text(j.Revision) }
	send := func(who, verb string, more ...string) answer {
		return c.post(at+"/"+verb, fields(append([]string{"reason", "because", "seen", revision()}, more...)...), c.as(who)...)
	}
	for _, sent := range []struct {
		verb string
		more []string
	}{{"requeue", []string{"args", `{"card":"1"}`}}, {"requeue", []string{"args", ""}}, {"requeue", []string{"restore", "1"}}, {"amend", []string{"args", "1"}},
		{"duplicate", []string{"args", "1"}}, {"erase", nil}, {"reveal", []string{"version", "1"}}} {
		want(t, send("operator", sent.verb, sent.more...), 403)
		want(t, send("viewer", sent.verb, sent.more...), 403)
	}
	for _, verb := range []string{"amend", "duplicate"} {
		want(t, send("mailer", verb, "queue", "mail"), 403)
	}
	if j, _ := c.store.Job(c.ctx, id); j.Revision != 3 || j.State != store.Discarded {
		t.Fatalf("something was done: %+v", j)
	}
	// A form whose args were emptied asks for no requeue with the old ones.
	if a := want(t, send("reader", "requeue", "args", ""), 422); !strings.Contains(a.body, "<b>args</b>") {
		t.Error(excerpt(a.body))
	}
	page := want(t, c.post(at+"/reveal", fields("as", "page"), c.as("reader")...), 200)
	if !strings.Contains(page.body, `4111`) || !strings.Contains(page.body, `formaction="`+at+`/requeue"`) || strings.Contains(page.body, `formaction="`+at+`/amend"`) {
		t.Error("the page of the payload offers other than what is possible")
	}
	done := want(t, send("reader", "requeue", "args", `{"card":"4222"}`), 303)
	if done.header.Get("Location") != at+"?done=requeued" {
		t.Error(done.header)
	}
	for who, sees := range map[string]bool{"operator": false, "reader": true, "viewer": false} {
		a := want(t, c.send("GET", "/api/v1"+at+"/args/1", "", c.as(who)...), 200)
		if strings.Contains(a.body, "4111") != sees {
			t.Errorf("%s reads %s", who, a.body)
		}
	}
	if a := want(t, c.post(at+"/reveal", fields("as", "file", "part", "args", "version", "1"), c.as("reader")...), 200); a.body != `{"card": "4111"}` || !strings.Contains(a.header.Get("Content-Disposition"), "args-1.json") {
		t.Errorf("%s %v", a.body, a.header)
	}
	want(t, c.post(at+"/reveal", fields("version", "7"), c.as("reader")...), 404)
	want(t, c.post(at+"/reveal", fields("version", "x"), c.as("reader")...), 422)
	seen := revision()
	want(t, send("operator", "note"), 303)
	conflict := want(t, c.post(at+"/amend", fields("reason", "the month", "seen", seen, "args", `{"card": "typed"}`), c.as("reader")...), 409)
	for _, kept := range []string{`typed`, ">the month</textarea>", "noted", `value="` + revision() + `"`} {
		if !strings.Contains(conflict.body, kept) {
			t.Errorf("after the conflict %q is not there", kept)
		}
	}
	want(t, send("reader", "amend", "restore", "1"), 303)
	for _, wrong := range []url.Values{fields("run_at", "soon"), fields("run_at", "+x"), fields("max_attempts", "x"), fields("priority", "1e9"), fields("queue", "a\x00"), fields("restore", "x"), fields()} {
		wrong.Set("reason", "because")
		wrong.Set("seen", revision())
		want(t, c.post(at+"/amend", wrong, c.as("reader")...), 422)
	}
	want(t, send("operator", "amend", "run_at", "+1h", "priority", "-1", "max_attempts", "", "queue", ""), 303)
	if j, _ := c.store.Job(c.ctx, id); j.State != store.Scheduled || j.Priority != -1 || j.ArgsVersion != 3 {
		t.Errorf("%+v", j)
	}
	made := want(t, send("operator", "duplicate"), 303)
	if copied := text(id + 1); made.header.Get("Location") != "/jobs/"+copied+"?done=duplicated" {
		t.Error(made.header)
	}
	want(t, send("operator", "terminate"), 303)
	want(t, send("reader", "erase"), 303)
	if page := want(t, c.send("GET", at, "", c.as("reader")...), 200); strings.Contains(page.body, "Earlier arguments") || !strings.Contains(page.body, "Erased") {
		t.Error("the page of what is erased shows versions")
	}
	// Arguments are kept nowhere but in their job.
	if a := want(t, c.post(at+"/requeue", fields("reason", "x", "seen", "1", "args", `{"card":"secret"}`)), 401); strings.Contains(a.body, "secret") || !strings.Contains(a.body, "go back in your browser") {
		t.Error(excerpt(a.body))
	}
}
