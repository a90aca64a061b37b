package web_test

import (
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// plantStale writes what a late completion would write if nothing fenced it, and
// has the log checked.
func (c *console) plantStale() (job, transition string) {
	c.t.Helper()
	id := c.enqueue(store.Request{Kind: "report"})
	c.exec(`insert into fenceline.transitions (job_id, type, generation, attempt_id, revision, from_state, to_state, attempts_used, max_attempts, kind, queue)
		values ($1, 'completed', 1, gen_random_uuid(), 2, 'running', 'completed', 1, 10, 'report', 'default')`, id)
	all := c.transitions(id)
	c.eventually("all is checked", func() bool {
		_, err := c.store.VerifyNext(c.ctx)
		v, read := c.store.Verification(c.ctx)
		return err == nil && read == nil && v.Stale > 0
	})
	return text(id), text(all[len(all)-1].ID)
}

func TestHomeAndAPageOfItsOwnSayWhatWasCheckedOfTheLog(t *testing.T) {
	c := open(t)
	d := readSpecification(t)
	c.enqueue(store.Request{Kind: "report"})
	if got := c.get("/").body; !strings.Contains(got, "the log is not checked yet") || !strings.Contains(got, `href="/verification"`) {
		t.Error("home does not say that nothing is checked")
	}
	if got := want(t, c.get("/verification"), 200); !strings.Contains(got.body, `data-topics="verification"`) {
		t.Error("the page of the verification is not live")
	}
	open := c.follow("/stream?topic=verification")
	open.await("says that nothing is checked", patch("verification-verdict", "not checked yet"))
	job, transition := c.plantStale()
	open.await("tells of what was found", patch("verification-verdict", "The log holds", "verification-facts", "violations", ">"+transition+"<"))
	for path, says := range map[string][]string{
		"/":                    {"A stale attempt changed a result", "transitions checked in the log", "fenceline verify"},
		"/verification":        {"The log holds", "a stale write was accepted", `href="/jobs/` + job + `"`, ">" + transition + "<"},
		"/api/v1/verification": {`"transition":"` + transition + `"`, `"stale_accepted":true`},
	} {
		got := want(t, c.get(path), 200)
		for _, words := range says {
			if !strings.Contains(got.body, words) {
				t.Errorf("%s does not say %q", path, words)
			}
		}
	}
	if wrong := d.fits("verification", d.Components.Schemas["Verification"], any(c.get("/api/v1/verification").json(t))); wrong != "" {
		t.Error(wrong)
	}
	if got := c.get("/api/v1/verification?colour=1"); got.status != 422 {
		t.Errorf("%d", got.status)
	}
}
