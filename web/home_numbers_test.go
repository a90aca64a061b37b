package web_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

var (
	linkToJobs = regexp.MustCompile(`(?s)<a\b[^>]*href="([^"]*/jobs\?[^"]*)"[^>]*>(.*?)</a>`)
	tag        = regexp.MustCompile(`(?s)<svg.*?</svg>|<[^>]*>`)
	number     = regexp.MustCompile(`\d[\d,]*`)
)

// numbered follows each link of a page to a list of jobs. What number stands in it
// must be how many jobs the list holds. It returns them by the search.
func (c *console) numbered(path string) map[string]int {
	c.t.Helper()
	out := map[string]int{}
	for _, link := range linkToJobs.FindAllStringSubmatch(want(c.t, c.get(path), 200).body, -1) {
		href, said := html.UnescapeString(link[1]), tag.ReplaceAllString(link[2], " ")
		query := href[strings.Index(href, "?"):]
		listed := len(want(c.t, c.get("/api/v1/jobs"+query), 200).json(c.t)["jobs"].([]any))
		want(c.t, c.get(href), 200)
		values, err := url.ParseQuery(query[1:])
		if err != nil {
			c.t.Fatal(err)
		}
		found := number.FindAllString(said, -1)
		if len(found) == 0 {
			if listed == 0 && values.Has("q") {
				c.t.Errorf("%s: %q leads to no job: %s", path, strings.TrimSpace(said), href)
			}
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(found[0], ",", ""))
		if err != nil || len(found) != 1 || n != listed {
			c.t.Errorf("%s: %q leads to %d jobs: %s", path, strings.Join(strings.Fields(said), " "), listed, href)
		}
		out[strings.TrimSpace(values.Get("q")+" "+strings.ReplaceAll(query[1:], "q="+url.QueryEscape(values.Get("q")), ""))] = n
	}
	return out
}

func TestEveryNumberOfHomeLeadsToTheJobsThatItCounts(t *testing.T) {
	c := open(t)
	lapse := func(id int64) {
		c.exec("update fenceline.jobs set lease_until = clock_timestamp() where id = $1", id)
	}
	expire := func() {
		if _, err := c.store.Expire(c.ctx, 10, store.Backoff{Base: time.Millisecond, Cap: time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		c.eventually("those that expired wait again", func() bool {
			_, err := c.store.Promote(c.ctx, 100)
			var later int
			return err == nil && c.owner.QueryRow(c.ctx, "select count(*) from fenceline.jobs where state = 'retryable'").Scan(&later) == nil && later == 0
		})
	}
	lose := func(kind string) store.Lease {
		l := c.claim("slow", kind, time.Minute)
		lapse(l.JobID)
		expire()
		return l
	}
	done := func(kind string) int64 {
		id := c.enqueue(store.Request{Kind: kind})
		if err := c.complete("w", c.claim("w", kind, time.Minute), `1`); err != nil {
			t.Fatal(err)
		}
		return id
	}
	// One lost twice, with two late writes, that waits; one that is claimed again; one
	// that has ended.
	c.enqueue(store.Request{Kind: "waits"})
	for range 2 {
		if err := c.complete("slow", lose("waits"), `1`); err == nil {
			t.Fatal("a late write was accepted")
		}
	}
	c.enqueue(store.Request{Kind: "again"})
	lose("again")
	c.claim("quick", "again", time.Minute)
	ended := c.enqueue(store.Request{Kind: "ended"})
	lose("ended")
	if _, err := c.store.Terminate(c.ctx, store.OperatorParams{JobID: ended, Seen: 3, Actor: "ada", Reason: "no more"}); err != nil {
		t.Fatal(err)
	}
	// One that has lapsed unseen, two that run, some that wait, completed and were
	// started again; and the drill, which is left out.
	for range 2 {
		c.enqueue(store.Request{Kind: "runs"})
		c.claim("w", "runs", time.Minute)
	}
	started := done("done")
	done("done")
	if _, err := c.store.Requeue(c.ctx, store.OperatorParams{JobID: started, Seen: 3, Actor: "ada", Reason: "again"}); err != nil {
		t.Fatal(err)
	}
	c.enqueue(store.Request{Kind: "report", Queue: "mail"})
	drill := []int64{c.enqueue(store.Request{Kind: "stray"}), c.enqueue(store.Request{Kind: "stray"})}
	if err := c.complete("slow", lose("stray"), `1`); err == nil {
		t.Fatal("a late write was accepted")
	}
	c.claim("w", "stray", time.Minute)
	c.exec("update fenceline.jobs set queue = 'drill' where id = any ($1)", drill)
	c.enqueue(store.Request{Kind: "lapsed"})
	lapse(c.claim("w", "lapsed", time.Minute).JobID)
	storetest.AwaitHorizon(t, c.ownerURL)
	if _, err := c.store.Roll(c.ctx); err != nil {
		t.Fatal(err)
	}

	got := c.numbered("/")
	for q, n := range map[string]int{
		"lease:live -queue:drill": 3, "lease:lapsed -queue:drill": 1, "lost:>-15m -queue:drill": 3, "lost:>-15m -lease:lost -queue:drill": 1,
		"lost:>-15m state:available,retryable,scheduled lease:lost -queue:drill": 1, "lost:>-15m state:completed,discarded,terminated lease:lost -queue:drill": 1,
		"late:>-15m -queue:drill": 1, "state:completed": 1, "state:terminated": 1, "queue=mail&state=available": 1,
	} {
		if got[q] != n {
			t.Errorf("home counts %d for %s, want %d of %v", got[q], q, n, got)
		}
	}
	if page := c.get("/").body; !strings.Contains(page, "4 leases expired") || !strings.Contains(page, "a job is in them as often as it happened to it") {
		t.Error("home does not say what is counted that is no list of jobs")
	}

	// The same of a minute that is over.
	at := time.Now().UTC().Add(-9 * time.Hour).Truncate(time.Minute)
	c.exec("update fenceline.jobs set finished_at = $1 where state = 'completed'", at.Add(59*time.Second))
	c.exec(`insert into fenceline.transitions (job_id, at, type, kind, queue, reason) select j.id, $1::timestamptz + n * interval '10 seconds', t::fenceline.transition_type, 'report', 'default', r
		from (values (1, 1, 'expired', null), (1, 2, 'expired', null), (2, 3, 'expired', null), (1, 4, 'rejected', 'superseded'), (987654, 5, 'expired', null), (1, 6, 'expired', null)) v (id, n, t, r)
		cross join lateral (select v.id) j (id)`, at)
	got = c.numbered("/?at=" + at.Format("2006-01-02T15:04"))
	minute := at.Format("2006-01-02T15:04Z")
	for q, n := range map[string]int{"state:completed finished:" + minute + " -queue:drill": 1, "lost:" + minute + " -queue:drill": 2, "late:" + minute + " -queue:drill": 1} {
		if got[q] != n {
			t.Errorf("the minute counts %d for %s, want %d of %v", got[q], q, n, got)
		}
	}
	if page := c.get("/?at=" + at.Format("2006-01-02T15:04")).body; !strings.Contains(page, "No search finds what stood in a queue then") {
		t.Error("the minute does not say which numbers are no list of jobs")
	}
}

func TestEveryNumberOfAnIncidentAndOfAJobLeadsToTheJobsThatItCounts(t *testing.T) {
	c := open(t)
	at := time.Now().UTC().Add(-2 * time.Minute).Truncate(time.Minute)
	for _, kind := range []string{"report", "report", "other"} {
		c.enqueue(store.Request{Kind: kind, Queue: "mail"})
	}
	c.exec(`insert into fenceline.transitions (job_id, at, type, kind, queue, reason)
		select n, $1::timestamptz + i * interval '7 seconds', t::fenceline.transition_type, k, 'mail', r
		from (values (1, 1, 'report', 'expired', null), (1, 2, 'report', 'expired', null), (2, 3, 'report', 'expired', null), (3, 4, 'other', 'expired', null),
		  (1, 5, 'report', 'rejected', 'superseded'), (1, 6, 'report', 'rejected', 'superseded'), (987654, 7, 'report', 'expired', null)) v (n, i, k, t, r)`, at)
	found := store.Sighting{Rule: "expiry-spike", Scope: "kind report", Kind: "report", Severity: "high", What: "Leases expired.", N: 4, Search: "kind:report", Types: []store.Type{store.TypeExpired, store.TypeRejected}}
	if _, err := c.store.Watch(c.ctx, []store.Sighting{found}, time.Hour); err != nil {
		t.Fatal(err)
	}
	c.eventually("the log is counted", func() bool {
		_, err := c.store.Roll(c.ctx)
		return err == nil && strings.Contains(c.get("/incidents/1").body, "4 expired")
	})
	c.numbered("/incidents/1")
	page := c.get("/incidents/1").body
	for said, jobs := range map[string]string{"4 expired": "1 2", "2 rejected": "1"} {
		_, after, is := strings.Cut(page, ">"+said+"</span>")
		link := linkToJobs.FindStringSubmatch(after)
		if !is || link == nil || link[2] != "within the minute" {
			t.Errorf("%s is followed by %q", said, link)
			continue
		}
		href := html.UnescapeString(link[1])
		var listed []string
		for _, j := range want(t, c.get("/api/v1/jobs"+href[strings.Index(href, "?"):]), 200).json(t)["jobs"].([]any) {
			listed = append(listed, j.(map[string]any)["id"].(string))
		}
		slices.Sort(listed)
		if strings.Join(listed, " ") != jobs {
			t.Errorf("%s leads to jobs %v, want %s: %s", said, listed, jobs, href)
		}
	}
	if !strings.Contains(page, "as often as it happened to it, and also when it is gone") {
		t.Error("the incident does not say what its numbers count")
	}
	for _, id := range []string{"1", "2", "3"} {
		c.numbered("/jobs/" + id)
	}
}
