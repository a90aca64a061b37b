package web_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views"
)

const typeMultipart = "multipart/form-data; boundary=cut"

// filed is the body of a form with one file.
func filed(name, content string) string {
	return "--cut\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"report.json\"\r\nContent-Type: application/json\r\n\r\n" + content + "\r\n--cut--\r\n"
}

func TestAReportIsToldAgainFromItsFileAndStoredNowhere(t *testing.T) {
	c := open(t)
	job := c.enqueue(store.Request{Kind: "report"})
	c.claim("a", "report", 3*time.Second)
	c.exec("update fenceline.jobs set lease_until = clock_timestamp() where id = $1", job)
	if _, err := c.store.Expire(c.ctx, 10, store.DefaultBackoff); err != nil {
		t.Fatal(err)
	}
	if _, err := c.store.Watch(c.ctx, []store.Sighting{{Rule: "expiry-spike", Severity: "high", What: "<i>lost</i>", Types: []store.Type{store.TypeExpired}}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	storetest.AwaitHorizon(t, c.ownerURL)
	if _, err := c.store.Roll(c.ctx); err != nil {
		t.Fatal(err)
	}
	want(t, c.post("/incidents/1/change", fields("do", "note", "seen", "1", "for", "", "severity", "high", "reason", "looked at\nthe host")), 303)
	live := want(t, c.get("/incidents/1"), 200).body
	report := want(t, c.get("/incidents/1/report?format=json"), 200).body
	c.exec("delete from fenceline.incident_entries")
	c.exec("delete from fenceline.incident_jobs")
	c.exec("delete from fenceline.incidents")
	if form := want(t, c.get("/incidents/replay"), 200).body; !strings.Contains(form, `type="file"`) || strings.Contains(form, "incident-timeline") {
		t.Error("the page does not ask for a file")
	}
	send := func(body string) answer {
		return c.send("POST", "/incidents/replay", body, "Content-Type", typeMultipart, "Sec-Fetch-Site", "same-origin")
	}
	page := want(t, send(filed("file", report)), 200).body
	timeline := func(page string) string {
		part := regexp.MustCompile(`(?s)<section id="incident-timeline".*?</section>`).FindString(page)
		return regexp.MustCompile(`</?(a|span)\b[^>]*>`).ReplaceAllString(part, "")
	}
	if a, b := timeline(page), timeline(live); a != b || !strings.Contains(a, "1 expired") || !strings.Contains(a, "looked at\nthe host") {
		t.Errorf("the timeline differs from the live one:\n%s\n%s", a, b)
	}
	if !strings.Contains(page, "&lt;i&gt;lost") || !strings.Contains(page, "its words are those of whoever made it") {
		t.Error("the page does not say where its words are from")
	}
	var n int
	if err := c.owner.QueryRow(c.ctx, "select (select count(*) from fenceline.incidents) + (select count(*) from fenceline.incident_entries)").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows were stored, %v", n, err)
	}
	api := func(body string) answer { return c.api("/api/v1/incidents/replay", body) }
	if again := want(t, api(report), 200); strings.Join(strings.Fields(again.body), "") != strings.Join(strings.Fields(report), "") {
		t.Errorf("the API read another report:\n%s\n%s", again.body, report)
	}
	broken := strings.Replace(report, `"severity": "high"`, `"severity": "dire"`, 1)
	for _, got := range []answer{send(filed("file", broken)), api(broken)} {
		if got.status != 422 || !strings.Contains(got.body, "severity") || !strings.Contains(got.body, "must be one of low, medium, high") {
			t.Errorf("%d: %s", got.status, excerpt(got.body))
		}
	}
	long := strings.Repeat(" ", views.MaxIncidentReport+1)
	for name, test := range map[string]struct {
		body   string
		status int
	}{
		"no file chosen":   {filed("file", ""), 422},
		"no field":         {"--cut--\r\n", 422},
		"another field":    {filed("other", report), 422},
		"one more field":   {strings.Replace(filed("file", report), "--cut--", filed("more", "x"), 1), 422},
		"not to its end":   {filed("file", report)[:900], 400},
		"no form":          {"x", 422},
		"too long":         {filed("file", long), 422},
		"longer than that": {filed("file", long+long), 422},
	} {
		if got := send(test.body); got.status != test.status {
			t.Errorf("%s: %d, want %d: %s", name, got.status, test.status, excerpt(got.body))
		}
	}
	want(t, c.post("/incidents/replay", fields("file", report)), 415)
	want(t, c.send("POST", "/incidents/replay", filed("file", report), "Content-Type", typeMultipart, "Sec-Fetch-Site", "cross-site"), 403)
	want(t, api(long), 422)
	want(t, api(``), 422)
	want(t, c.get("/incidents/replay?colour=1"), 422)
}

// FuzzReplay holds the form with the file of a report, and the same by the API.
func FuzzReplay(f *testing.F) {
	for _, body := range append([]string{filed("file", `{"report":1}`), filed("file", ""), filed("", "x"), "--cut\r\n\r\n--cut--", "--cut--", filed("file", filed("file", "{}"))}, nastyBodies...) {
		f.Add(body)
	}
	g := newTarget(f)
	f.Fuzz(func(t *testing.T, body string) {
		g.hold(t, g.post("/incidents/replay", typeMultipart, body))
		g.hold(t, g.post("/api/v1/incidents/replay", typeJSON, body))
	})
}
