package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// carry does what a worker process does for operations, until nothing is left.
func (c *console) carry() {
	c.t.Helper()
	for {
		step, err := c.store.StepOperation(c.ctx, "w-1")
		if err != nil {
			c.t.Fatal(err)
		}
		if step.ID == 0 && step.Next < 0 {
			return
		}
		if step.ID == 0 {
			time.Sleep(step.Next) // the rest after a step
		}
	}
}

func TestManyJobsArePreviewedConfirmedAndDoneFromTheConsole(t *testing.T) {
	c := open(t)
	var ids []int64
	for range 30 {
		ids = append(ids, c.enqueue(store.Request{Kind: "mail", RunAt: time.Now().Add(time.Hour)}))
	}
	list := want(t, c.get("/jobs?q=kind:mail"), 200).body
	for _, part := range []string{`form="bulk" name="t-` + text(ids[3]) + `" value="1"`, `action="/operations"`, "Requeue all 30…"} {
		if !strings.Contains(list, part) {
			t.Errorf("the list lacks %s", part)
		}
	}
	made := want(t, c.post("/operations", url.Values{"do": {"terminate matching"}, "q": {"kind:mail"}, "order": {"newest"}}), 303)
	at := made.header.Get("Location")
	preview := want(t, c.get(at), 200).body
	for _, part := range []string{"Terminate 30 jobs", "kind is mail", "30 scheduled", "Nothing has been done yet", "The search"} {
		if strings.Contains(preview, part) == (part == "The search") {
			t.Errorf("the preview and %q: %s", part, excerpt(preview))
		}
	}
	late := c.enqueue(store.Request{Kind: "mail"})
	want(t, c.post("/jobs/"+text(ids[4])+"/requeue", url.Values{"reason": {"by hand"}, "seen": {"1"}}), 303)
	// Nothing typed is lost where it is refused.
	for _, form := range []url.Values{
		{"seen": {"1"}, "reason": {""}, "pace": {"77"}}, {"seen": {"1"}, "reason": {"duplicates"}, "pace": {"many"}},
		{"seen": {"x"}, "reason": {"duplicates"}}, {"seen": {"1"}, "reason": {"duplicates"}, "halt_above": {"30"}},
	} {
		got := want(t, c.post(at+"/confirm", form), 422)
		if v := form.Get("reason"); v != "" && !strings.Contains(got.body, ">"+v+"</textarea>") || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("%v: %s", form, excerpt(got.body))
		}
	}
	confirm := url.Values{"seen": {"1"}, "reason": {"duplicates"}, "pace": {""}}
	if to := want(t, c.post(at+"/confirm", confirm), 303).header.Get("Location"); to != at+"?done=confirmed" {
		t.Errorf("leads to %s", to)
	}
	if to := want(t, c.post(at+"/confirm", confirm), 303).header.Get("Location"); to != at+"?done=confirmed-before" {
		t.Errorf("a second press leads to %s", to)
	}
	if got := want(t, c.post(at+"/cancel", url.Values{"seen": {"1"}, "reason": {"stop it"}}), 409); !strings.Contains(got.body, "changed since you looked") || !strings.Contains(got.body, ">stop it</textarea>") {
		t.Errorf("%s", excerpt(got.body))
	}
	c.carry()
	end := want(t, c.get(at), 200).body
	for _, part := range []string{"29 done, 1 left alone", "changed since it was looked at", "duplicates", `href="/jobs/` + text(ids[4]) + `"`} {
		if !strings.Contains(end, part) {
			t.Errorf("at its end it lacks %q: %s", part, excerpt(end))
		}
	}
	if j, err := c.store.Job(c.ctx, late); err != nil || j.State != store.Available {
		t.Errorf("a job that came later is %s", j.State)
	}
	if got := want(t, c.get("/operations"), 200).body; !strings.Contains(got, at+`"`) {
		t.Error("the list of operations lacks it")
	}
	if got := want(t, c.post(at+"/pause", url.Values{"seen": {"3"}, "reason": {"too late"}}), 409); !strings.Contains(got.body, "<blockquote class=\"wrap\" dir=\"auto\">too late") {
		t.Errorf("what was typed is gone: %s", excerpt(got.body))
	}
	job := want(t, c.get("/jobs/"+text(ids[0])), 200).body
	if !strings.Contains(job, "duplicates") || !strings.Contains(job, `href="/operations/`) || !strings.Contains(job, ">operation 1</a>") {
		t.Error("the timeline lacks the reason, or what led to it")
	}

	tick := url.Values{"do": {"requeue ticked"}, "t-" + text(ids[0]): {"2"}, "t-" + text(ids[1]): {"1"}, "t-999999": {"4"}}
	at = want(t, c.post("/operations", tick), 303).header.Get("Location")
	if got := want(t, c.get(at), 200).body; !strings.Contains(got, "Requeue 3 jobs") || !strings.Contains(got, "1: changed since it was looked at") || !strings.Contains(got, "1: is no longer there") {
		t.Errorf("%s", excerpt(got))
	}
	for field, form := range map[string]url.Values{
		"jobs": {"do": {"requeue ticked"}}, "q": {"do": {"requeue matching"}, "q": {"kind:nowhere"}}, "do": {"do": {"requeue"}}, "action": {"do": {"erase matching"}}, "t-x": {"do": {"requeue ticked"}, "t-x": {"1"}},
	} {
		if got := want(t, c.post("/operations", form), 422); !strings.Contains(got.body, field) {
			t.Errorf("%s: %s", field, excerpt(got.body))
		}
	}
	want(t, c.get("/operations/999"), 404)
	want(t, c.get("/operations/x"), 404)
	want(t, c.post("/operations/999/pause", url.Values{"seen": {"3"}, "reason": {"x"}}), 404)
}

func TestProgramsActOnManyJobsWithTheSameGuards(t *testing.T) {
	c := open(t)
	var ids []int64
	for i := range 8 {
		ids = append(ids, c.enqueue(store.Request{Args: json.RawMessage(fmt.Sprintf(`{"customer": %d}`, i%2)), RunAt: time.Now().Add(time.Hour)}))
	}
	const path = "/api/v1/operations"
	made := want(t, c.api(path, `{"action":"requeue","q":"kind:report"}`), 201)
	o := made.json(t)
	at := path + "/" + o["id"].(string)
	if o["total"] != json.Number("8") || o["state"] != "preview" || o["words"] != "kind is report" || len(o["sample"].([]any)) != 8 || made.header.Get("Location") != at {
		t.Fatalf("%s", made.body)
	}
	body := `{"reason":"input fixed","seen":{"revision":1},"pace":3000,"halt_above":20}`
	for range 2 {
		if got := want(t, c.api(at+"/confirm", body), 200).json(t); got["state"] != "running" || got["revision"] != json.Number("2") || got["pace"] != json.Number("3000") {
			t.Errorf("%v", got)
		}
	}
	code, _ := want(t, c.api(at+"/pause", `{"reason":"x","seen":{"revision":1}}`), 409).fault(t)
	now := c.api(at+"/pause", `{"reason":"x","seen":{"revision":1}}`).json(t)["error"].(map[string]any)["operation"].(map[string]any)
	if code != "changed" || now["state"] != "running" || now["revision"] != json.Number("2") {
		t.Errorf("%s %v", code, now)
	}
	want(t, c.api(at+"/pause", `{"reason":"x","seen":{"revision":2}}`), 200)
	if got := want(t, c.api(at+"/resume", `{"reason":"x","seen":{"revision":3},"halt_above":20}`), 200).json(t); got["resumed_at"] == nil {
		t.Errorf("%v", got)
	}
	if page := want(t, c.get("/operations/"+o["id"].(string)), 200); !strings.Contains(page.body, "of those requeued since it was resumed") {
		t.Errorf("the page does not say since when its rule judges: %s", excerpt(page.body))
	}
	want(t, c.post("/jobs/"+text(ids[2])+"/terminate", url.Values{"reason": {"by hand"}, "seen": {"1"}}), 303)
	c.carry()
	end := want(t, c.get(at), 200).json(t)
	skipped := want(t, c.get(at+"/skipped"), 200).json(t)["skipped"].([]any)
	if end["state"] != "finished" || end["done"] != json.Number("7") || len(skipped) != 1 || skipped[0].(map[string]any)["job_id"] != text(ids[2]) || skipped[0].(map[string]any)["why"] != "changed" {
		t.Errorf("%v %v", end, skipped)
	}
	kept := want(t, c.api("/api/v1/searches", `{"q":"args.customer:1"}`), 201).json(t)["id"].(string)
	o = want(t, c.api(path, `{"action":"terminate","search":"`+kept+`"}`), 201).json(t)
	if o["total"] != json.Number("4") || o["q"] != nil || o["search"] != kept || o["words"] != "args.customer is what the search says" {
		t.Errorf("%v", o)
	}
	o = want(t, c.api(path, `{"action":"terminate","jobs":[{"id":"`+text(ids[0])+`","revision":2},{"id":`+text(ids[1])+`,"revision":"2"}]}`), 201).json(t)
	if o["total"] != json.Number("2") {
		t.Errorf("%v", o)
	}
	if n := len(want(t, c.get(path), 200).json(t)["operations"].([]any)); n != 1 {
		t.Errorf("%d operations, previews apart", n)
	}
	for body, field := range map[string]string{
		`{"q":""}`:                                 "action",
		`{"action":"erase","q":""}`:                "action",
		`{"action":"requeue"}`:                     "jobs",
		`{"action":"requeue","jobs":[]}`:           "jobs",
		`{"action":"requeue","jobs":[1]}`:          "jobs[0]",
		`{"action":"requeue","jobs":[{"id":"1"}]}`: "jobs[0].revision",
		`{"action":"requeue","jobs":[{"id":"1","revision":1},{"id":1,"revision":1}]}`: "jobs[1].id",
		`{"action":"requeue","jobs":[{"id":"1","revision":1}],"q":"kind:a"}`:          "jobs",
		`{"action":"requeue","q":"stat:x"}`:                                           "q",
		`{"action":"requeue","q":"args.a:1"}`:                                         "q",
		`{"action":"requeue","q":"kind:nowhere"}`:                                     "q",
		`{"action":"requeue","q":"kind:a","search":"` + kept + `"}`:                   "search",
		`{"action":"requeue","q":"","unknown":1}`:                                     "unknown",
		`{"action":"requeue","q":"","":1}`:                                            `""`,
	} {
		if _, got := want(t, c.api(path, body), 422).fault(t); got != field {
			t.Errorf("%s: field %q, want %q", body, got, field)
		}
	}
	for body, field := range map[string]string{
		`{"reason":"x"}`: "seen.revision", `{"seen":{"revision":4}}`: "reason", `{"reason":"x","seen":{"revision":4},"pace":0}`: "pace",
		`{"reason":"x","seen":{"revision":4},"halt_above":100}`: "halt_above",
	} {
		if _, got := want(t, c.api(at+"/resume", body), 422).fault(t); got != field {
			t.Errorf("%s: field %q, want %q", body, got, field)
		}
	}
	want(t, c.api(path+"/999/cancel", `{"reason":"x","seen":{"revision":1}}`), 404)
	want(t, c.get(path+"/x"), 422)
	want(t, c.get(path+"/999/skipped"), 404)
}
