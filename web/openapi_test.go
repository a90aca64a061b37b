package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web"
)

// specification is the API's OpenAPI document.
type specification struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Security   []map[string][]string                 `json:"security"`
	Components struct {
		SecuritySchemes map[string]struct{ Type, Scheme string } `json:"securitySchemes"`
		Responses       map[string]reply                         `json:"responses"`
		Schemas         map[string]any                           `json:"schemas"`
	} `json:"components"`
}

// reply is one of the answers that the document tells of.
type reply struct {
	Ref     string `json:"$ref"`
	Headers map[string]any
	Content map[string]struct{ Schema any }
}

func readSpecification(t *testing.T) specification {
	t.Helper()
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d specification
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDocumentTellsTheRoutesOfTheAPIAndNoOthers(t *testing.T) {
	c := open(t)
	d := readSpecification(t)
	routed := map[string]bool{}
	for _, r := range c.Routes() {
		if !strings.HasPrefix(r.Path, "/api/") {
			continue
		}
		path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}")
		routed[strings.ToLower(r.Method)+" "+path] = true
		if d.Paths[path][strings.ToLower(r.Method)] == nil {
			t.Errorf("%s %s is not told", r.Method, path)
		}
	}
	ids := map[string]string{}
	for path, methods := range d.Paths {
		for method, raw := range methods {
			if !routed[method+" "+path] {
				t.Errorf("%s %s is told, but is no route", method, path)
			}
			var op struct {
				ID         string `json:"operationId"`
				Parameters []struct{ Name, In string }
				Body       json.RawMessage `json:"requestBody"`
				Responses  map[string]reply
				Security   []any
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			if other := ids[op.ID]; other != "" || op.ID == "" {
				t.Errorf("%s %s has the id %q of %s", method, path, op.ID, other)
			}
			ids[op.ID] = path
			named := slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.In == "path" })
			if named != strings.Contains(path, "{") || (op.Body != nil) != (method == "post") {
				t.Errorf("%s %s: its parameters or its body are not told", method, path)
			}
			for status, name := range map[string]string{"401": "Unauthorized", "403": "Forbidden", "429": "TooManyRequests"} {
				if got := op.Responses[status].Ref; got != "#/components/responses/"+name || op.Security != nil {
					t.Errorf("%s %s: %s is told as %q, and %v is asked for", method, path, status, got, op.Security)
				}
			}
		}
	}
}

func TestWhoIsRefusedByTheAPIIsAnsweredAsTheDocumentSays(t *testing.T) {
	d := readSpecification(t)
	if scheme := d.Components.SecuritySchemes["token"]; len(d.Security) != 1 || d.Security[0]["token"] == nil || scheme.Type != "http" || scheme.Scheme != "bearer" {
		t.Errorf("%v is asked for: %v", d.Security, scheme)
	}
	c := signing(t, func(cfg *web.Config) { cfg.Rates = web.Rates{Reads: 1, Changes: 1} })
	at := time.Now()
	c.SetClock(func() time.Time { return at })
	viewer := append(c.as("viewer"), "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
	d.told(t, want(t, c.api("/api/v1/jobs", `{"kind":"report"}`), 401), "post", "/api/v1/jobs")
	d.told(t, want(t, c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, viewer...), 403), "post", "/api/v1/jobs")
	last := answer{}
	for range 11 {
		last = c.send("GET", "/api/v1/queues", "", viewer...)
	}
	d.told(t, want(t, last, 429), "get", "/api/v1/queues")
	if told := want(t, c.send("GET", "/api/v1/openapi.json", "", c.as("admin")...), 200).json(t); told["security"] == nil {
		t.Error("the document does not say that people sign in")
	}
	if told := want(t, openMore(t).get("/api/v1/openapi.json"), 200).json(t); told["security"] != nil {
		t.Errorf("where nobody signs in %v is asked for", told["security"])
	}
}

// fits tells where a value does not fit a schema of the document; empty where it
// does.
func (d specification) fits(at string, schema any, v any) string {
	s, _ := schema.(map[string]any)
	if name, is := s["$ref"].(string); is {
		name = strings.TrimPrefix(name, "#/components/schemas/")
		if d.Components.Schemas[name] == nil {
			return at + ": there is no schema " + name
		}
		return d.fits(at, d.Components.Schemas[name], v)
	}
	for _, either := range []string{"anyOf", "oneOf"} {
		if all, is := s[either].([]any); is {
			wrong := ""
			for _, one := range all {
				if wrong = d.fits(at, one, v); wrong == "" {
					return ""
				}
			}
			return wrong
		}
	}
	types, _ := s["type"].([]any)
	if one, is := s["type"].(string); is {
		types = []any{one}
	}
	if len(types) > 0 && !slices.Contains(types, any(kindOf(v))) && !(kindOf(v) == "integer" && slices.Contains(types, any("number"))) {
		return fmt.Sprintf("%s is %s, not %v", at, kindOf(v), types)
	}
	if words, is := s["enum"].([]any); is && !slices.Contains(words, v) {
		return fmt.Sprintf("%s is %v, not one of %v", at, v, words)
	}
	switch v := v.(type) {
	case []any:
		for i, one := range v {
			if wrong := d.fits(fmt.Sprintf("%s[%d]", at, i), s["items"], one); wrong != "" {
				return wrong
			}
		}
	case map[string]any:
		return d.fitsObject(at, s, v)
	}
	return ""
}

func (d specification) fitsObject(at string, s map[string]any, v map[string]any) string {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, there := v[name.(string)]; !there {
			return fmt.Sprintf("%s lacks %s", at, name)
		}
	}
	for name, one := range v {
		schema := properties[name]
		if schema == nil && s["additionalProperties"] == false {
			return at + "." + name + " is not told"
		}
		if schema == nil {
			schema = s["additionalProperties"]
		}
		if wrong := d.fits(at+"."+name, schema, one); wrong != "" {
			return wrong
		}
	}
	return ""
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// told checks an answer of the API against the document.
func (d specification) told(t *testing.T, a answer, method, path string) map[string]any {
	t.Helper()
	var op struct{ Responses map[string]reply }
	if err := json.Unmarshal(d.Paths[path][method], &op); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	told, is := op.Responses[fmt.Sprint(a.status)]
	if !is {
		t.Fatalf("%s %s answers %d, which is not told: %s", method, path, a.status, excerpt(a.body))
	}
	if told.Ref != "" {
		told = d.Components.Responses[strings.TrimPrefix(told.Ref, "#/components/responses/")]
	}
	for name := range told.Headers {
		if a.header.Get(name) == "" {
			t.Errorf("%s %s: %d without %s", method, path, a.status, name)
		}
	}
	v := a.json(t)
	if wrong := d.fits("answer", told.Content["application/json"].Schema, any(v)); wrong != "" {
		t.Errorf("%s %s: %s in %s", method, path, wrong, excerpt(a.body))
	}
	return v
}

// odd are names that a path could not hold.
var odd = []string{"a/b", "..", "100%", "%2F", "a b+c&d=e;f", "ünïcödé ⚙", "?q=1#x", `"><script>`, strings.Repeat("x", 200), "-", "a\u202eb"}

func TestQueuesKindsAndWorkersOfEveryNameAnswerAsTheDocumentSays(t *testing.T) {
	c := open(t)
	d := readSpecification(t)
	answer := func(a answer, method, path string) map[string]any {
		t.Helper()
		return d.told(t, a, method, path)
	}
	quoted := func(s string) string { raw, _ := json.Marshal(s); return string(raw) }
	for i, name := range odd {
		c.enqueue(store.Request{Queue: name, Kind: name})
		if err := c.store.RegisterWorker(c.ctx, store.WorkerStart{ID: name, Host: "h", Beat: time.Minute, Queues: map[string]int{name: 2}, Kinds: []store.KindLease{{Kind: name, Lease: time.Minute}}}); err != nil {
			t.Fatal(err)
		}
		what := []string{"queue", "kind"}[i%2]
		paused := answer(c.api("/api/v1/queues/pause", `{"`+what+`":`+quoted(name)+`,"for":"1h","reason":"look","seen":{"revision":0}}`), "post", "/api/v1/queues/pause")
		if paused["name"] != name || paused["paused"] != true {
			t.Errorf("%q: %v", name, paused)
		}
		stale := c.api("/api/v1/queues/limit", `{"`+what+`":`+quoted(name)+`,"concurrency":2,"reason":"x","seen":{"revision":0}}`)
		now := answer(stale, "post", "/api/v1/queues/limit")["error"].(map[string]any)
		if stale.status != http.StatusConflict || now["code"] != "changed" || now["control"].(map[string]any)["paused"] != true {
			t.Errorf("%q: %v", name, now)
		}
		answer(c.api("/api/v1/queues/limit", `{"`+what+`":`+quoted(name)+`,"concurrency":2,"rate":5,"per":"1m","reason":"x","seen":{"revision":1}}`), "post", "/api/v1/queues/limit")
		answer(c.api("/api/v1/workers/drain", `{"id":`+quoted(name)+`,"reason":"x","seen":{"revision":0}}`), "post", "/api/v1/workers/drain")
		query := url.QueryEscape(name)
		answer(c.get("/api/v1/queues?name="+query), "get", "/api/v1/queues")
		answer(c.get("/api/v1/queues?kind="+query), "get", "/api/v1/queues")
		answer(c.get("/api/v1/workers?id="+query), "get", "/api/v1/workers")
		for _, page := range []string{"/queues?name=", "/queues?kind=", "/workers?id="} {
			body := want(t, c.get(page+query), 200).body
			if strings.Contains(body, "<script>") && name == `"><script>` {
				t.Errorf("%s%s holds markup of its name", page, query)
			}
		}
	}
	list, workers := want(t, c.get("/queues"), 200).body, want(t, c.get("/workers"), 200).body
	for _, name := range odd {
		for page, part := range map[string]string{list: "/queues?name=", workers: "/workers?id="} {
			if !strings.Contains(page, `href="`+part+url.QueryEscape(name)) {
				t.Errorf("no link leads to %q", name)
			}
		}
	}
	answer(c.get("/api/v1/queues"), "get", "/api/v1/queues")
	answer(c.get("/api/v1/workers"), "get", "/api/v1/workers")
	answer(c.api("/api/v1/queues/resume", `{"all":true,"reason":"x","seen":{"revision":0}}`), "post", "/api/v1/queues/resume")
	answer(c.api("/api/v1/workers/resume", `{"id":"nobody","reason":"x","seen":{"revision":0}}`), "post", "/api/v1/workers/resume")

	made := answer(c.api("/api/v1/operations", `{"action":"terminate","q":""}`), "post", "/api/v1/operations")
	at := "/api/v1/operations/" + made["id"].(string)
	answer(c.api(at+"/confirm", `{"reason":"x","seen":{"revision":1},"pace":60000}`), "post", "/api/v1/operations/{id}/confirm")
	answer(c.api(at+"/pause", `{"reason":"x","seen":{"revision":1}}`), "post", "/api/v1/operations/{id}/pause")
	want(t, c.post("/jobs/1/terminate", url.Values{"reason": {"x"}, "seen": {"1"}}), 303)
	c.carry()
	answer(c.get(at), "get", "/api/v1/operations/{id}")
	answer(c.get(at+"/skipped"), "get", "/api/v1/operations/{id}/skipped")
	answer(c.get("/api/v1/operations"), "get", "/api/v1/operations")
	answer(c.get("/api/v1/audit?limit=5"), "get", "/api/v1/audit")

	for body, field := range map[string]string{
		`{"queue":"a","seen":{"revision":0}}`:                                              "reason",
		`{"queue":"a","reason":"x"}`:                                                       "seen.revision",
		`{"reason":"x","seen":{"revision":0}}`:                                             "queue",
		`{"queue":"a","kind":"b","reason":"x","seen":{"revision":0}}`:                      "queue",
		`{"queue":"a","reason":"x","seen":{"revision":-1}}`:                                "seen.revision",
		`{"queue":"a","for":"soon","reason":"x","seen":{"revision":0}}`:                    "for",
		`{"queue":"a","until":"2001-01-01T00:00:00Z","reason":"x","seen":{"revision":0}}`:  "until",
		`{"queue":"` + strings.Repeat("q", 1025) + `","reason":"x","seen":{"revision":0}}`: "queue",
	} {
		if _, got := want(t, c.api("/api/v1/queues/pause", body), 422).fault(t); got != field {
			t.Errorf("%s: field %q, want %q", excerpt(body), got, field)
		}
	}
	// A form that is refused keeps what was typed.
	form := url.Values{"scope": {"queue"}, "name": {"a/b"}, "seen": {"0"}, "reason": {"typed reason"}, "concurrency": {"3"}}
	if got := want(t, c.post("/queues/limit", form), 409); !strings.Contains(got.body, ">typed reason</textarea>") || !strings.Contains(got.body, `name="seen" value="2"`) {
		t.Errorf("%s", excerpt(got.body))
	}
	form.Set("for", "90m")
	if got := want(t, c.post("/queues/pause", form), 409); !strings.Contains(got.body, `<option value="90m" selected`) {
		t.Errorf("the time that was asked for is gone: %s", excerpt(got.body))
	}
	form.Set("concurrency", "many")
	if got := want(t, c.post("/queues/limit", form), 422); !strings.Contains(got.body, "concurrency") {
		t.Errorf("%s", excerpt(got.body))
	}
}
