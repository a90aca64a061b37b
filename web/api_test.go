package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestAJobIsEnqueuedWorkedAndReadThroughTheAPI(t *testing.T) {
	c := open(t)
	a := want(t, c.api("/api/v1/jobs", `{"kind":"report","args":{"n":12345678901234567890.10,"s":"<b>"},"key":"k1","priority":-3,"tags":["a"],"max_attempts":4}`), 201)
	job := a.json(t)
	id := job["id"].(string)
	if a.header.Get("Location") != "/api/v1/jobs/"+id {
		t.Errorf("Location %q", a.header.Get("Location"))
	}
	if !strings.Contains(a.body, `12345678901234567890.10`) {
		t.Errorf("the digits changed: %s", a.body)
	}
	again := want(t, c.api("/api/v1/jobs", `{"kind":"report","args":{"n":12345678901234567890.10,"s":"<b>"},"key":"k1","priority":-3,"tags":["a"],"max_attempts":4}`), 200)
	if again.json(t)["id"] != id {
		t.Error("a repeat made another job")
	}
	code, field := want(t, c.api("/api/v1/jobs", `{"kind":"report","args":{},"key":"k1"}`), 409).fault(t)
	if code != "key_conflict" || field != "key" {
		t.Errorf("%s of %s", code, field)
	}

	lease := c.claim("w1", "report", time.Minute)
	c.renew("w1", lease)
	if err := c.complete("w1", lease, `{"total":0.10000000000000000000000001}`); err != nil {
		t.Fatal(err)
	}
	a = want(t, c.get("/api/v1/jobs/"+id), 200)
	job = a.json(t)
	if job["state"] != "completed" || !strings.Contains(a.body, `0.10000000000000000000000001`) {
		t.Errorf("%s", a.body)
	}
	attempts := job["attempts"].([]any)
	first := attempts[0].(map[string]any)
	if len(attempts) != 1 || first["end"] != "completed" || first["attempt_id"] != lease.AttemptID.String() {
		t.Errorf("attempts %v", attempts)
	}
	list := want(t, c.get("/api/v1/jobs/"+id+"/transitions"), 200).json(t)["transitions"].([]any)
	var types []string
	for _, one := range list {
		types = append(types, one.(map[string]any)["type"].(string))
	}
	if got := strings.Join(types, " "); got != "enqueued claimed renewed completed" {
		t.Errorf("transitions %s", got)
	}
}

func TestPagesAreServed(t *testing.T) {
	c := open(t)
	want(t, c.get("/"), 200)
	id := c.enqueue(store.Request{})
	for _, path := range []string{"/", "/jobs", "/jobs/" + text(id), "/healthz", "/readyz", "/api/v1/openapi.json"} {
		want(t, c.get(path), 200)
	}
}
