package web_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestHomeShowsAMinuteThatIsOverAndSaysSo(t *testing.T) {
	c := open(t)
	c.enqueue(store.Request{Kind: "report", Queue: "mail"})
	if _, err := c.store.SampleQueues(c.ctx); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Add(-9 * time.Hour).Truncate(time.Minute)
	c.exec("update fenceline.queue_minutes set minute = $1, at = $1", at)
	c.exec(`insert into fenceline.transitions (job_id, at, type, kind, queue) values (1, $1::timestamptz + interval '3 seconds', 'failed', 'report', 'mail')`, at)
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04Z", "15:04"} {
		got := want(t, c.get("/?at="+url.QueryEscape(at.Format(form))), 200)
		for _, words := range []string{"You look at the past", at.Format("2006-01-02 15:04") + " UTC", "Back to now", "1 waited and 0 ran. Within the minute 0 claims, 0 completions, 1 failure", ">mail<", `data-topics=""`,
			`href="/?at=` + url.QueryEscape(at.Add(time.Minute).Format("2006-01-02T15:04")) + `"`, `value="` + at.Format("2006-01-02T15:04") + `"`} {
			if !strings.Contains(got.body, words) {
				t.Errorf("%s: the page does not say %q", form, words)
			}
		}
	}
	if got := c.get("/").body; strings.Contains(got, "You look at the past") || !strings.Contains(got, `name="at"`) {
		t.Error("the present says that it is the past, or does not lead there")
	}
	if got := want(t, c.get("/?at=2001-01-31T03:12"), 200).body; !strings.Contains(got, "Nothing is known of this minute") {
		t.Error("a minute of which nothing is kept looks as if nothing had happened")
	}
	d := readSpecification(t)
	got := want(t, c.get("/api/v1/past?at="+url.QueryEscape(at.Format("2006-01-02T15:04"))), 200)
	if wrong := d.fits("past", d.Components.Schemas["Past"], any(got.json(t))); wrong != "" || !strings.Contains(got.body, `"queue":"mail","waiting":1`) {
		t.Errorf("%s %s", wrong, got.body)
	}
	ahead := time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04")
	for _, path := range []string{"/?at=soon", "/?at=" + ahead, "/api/v1/past", "/api/v1/past?at=25:00", "/api/v1/past?at=0001-01-01T00:00", "/api/v1/past?at=" + ahead} {
		if got := c.get(path); got.status != 422 || !strings.Contains(got.body, "at") {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}
