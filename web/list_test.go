package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/web"
)

// finder is the search form as a page sends it, with what was changed in it.
func finder(change ...string) url.Values {
	form := url.Values{"q": {""}, "was": {""}}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return form
}

func TestTheSearchFormLeadsToAnAddressThatSaysTheSame(t *testing.T) {
	c := open(t)
	id := c.enqueue(store.Request{Kind: "mail", Key: "7001"})
	for name, s := range map[string]struct {
		form url.Values
		to   string
	}{
		"the line":           {finder("q", `kind:report  state:DISCARDED error:"timeout"`), "/jobs?q=kind%3Areport+state%3Adiscarded+error%3Atimeout"},
		"nothing":            {finder(), "/jobs"},
		"a control":          {finder("f-kind", "report", "f-state", "running"), "/jobs?q=state%3Arunning+kind%3Areport"},
		"a changed control":  {finder("q", "kind:a older:1h", "was", "kind:a older:1h", "f-kind", "b", "f-older", "1h"), "/jobs?q=kind%3Ab+older%3A1h"},
		"an emptied control": {finder("q", "kind:a older:1h", "was", "kind:a older:1h", "f-kind", "", "f-older", "1h"), "/jobs?q=older%3A1h"},
		"a changed line":     {finder("q", "kind:b", "was", "kind:a", "f-kind", "a"), "/jobs?q=kind%3Ab"},
		"spaces":             {finder("f-queue", "two words"), "/jobs?q=queue%3A%22two+words%22"},
		"a job's id":         {finder("q", " "+text(id)+" "), "/jobs/" + text(id)},
		"a key of digits":    {finder("q", "7001"), "/jobs?q=key%3A7001"},
		"the view":           {finder("order", "finished", "limit", "100", "c-kind", "1", "c-tags", "1"), "/jobs?columns=kind%2Ctags&limit=100&order=finished"},
	} {
		got := want(t, c.post("/jobs/search", s.form), http.StatusSeeOther)
		if to := got.header.Get("Location"); to != s.to {
			t.Errorf("%s leads to %s, want %s", name, to, s.to)
		} else {
			want(t, c.get(to), 200)
		}
	}
	for name, form := range map[string]url.Values{
		"the line":  finder("q", "stat:running <b>"),
		"a control": finder("f-older", "<b>soon"),
	} {
		got := want(t, c.post("/jobs/search", form), 422)
		if strings.Contains(got.body, "<b>soon") || strings.Contains(got.body, "running <b>") || !strings.Contains(got.body, "Nothing was searched") {
			t.Errorf("%s: %s", name, excerpt(got.body))
		}
	}
	if got := c.send("POST", "/jobs/search", "q=", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site"); got.status != 403 {
		t.Errorf("from another site: %d", got.status)
	}
}

func TestASearchInArgsStandsInNoAddress(t *testing.T) {
	c := open(t)
	exact := c.enqueue(store.Request{Args: json.RawMessage(`{"customer_id": 1970670598291982290}`)})
	c.enqueue(store.Request{Args: json.RawMessage(`{"customer_id": 1970670598291982291}`)})
	const search = "args.customer_id:1970670598291982290"

	got := want(t, c.post("/jobs/search", finder("q", search+" kind:report", "limit", "100")), http.StatusSeeOther)
	to := got.header.Get("Location")
	if !strings.HasPrefix(to, "/jobs?limit=100&search=") || strings.Contains(to, "1970670598291982290") {
		t.Fatalf("leads to %s", to)
	}
	page := want(t, c.get(to), 200)
	if !strings.Contains(page.body, `id="row-`+text(exact)+`"`) || strings.Count(page.body, `id="row-`) != 1 || !strings.Contains(page.body, search) {
		t.Errorf("the list: %s", excerpt(page.body))
	}
	if page.header.Get("Cache-Control") != "no-store" {
		t.Errorf("may be kept: %q", page.header.Get("Cache-Control"))
	}
	for _, attribute := range []string{`href="`, `data-topics="`, `data-want="`} {
		for _, part := range strings.Split(page.body, attribute)[1:] {
			if value, _, _ := strings.Cut(part, `"`); strings.Contains(value, "1970670598291982290") {
				t.Errorf("%s%s holds what was searched for", attribute, value)
			}
		}
	}
	// Sent again unchanged it is the same; in another address it is refused.
	_, kept, _ := strings.Cut(to, "search=")
	again := c.post("/jobs/search", finder("q", search+" kind:report", "was", search+" kind:report", "search", kept))
	if again.header.Get("Location") != "/jobs?search="+kept {
		t.Errorf("sent again it leads to %s", again.header.Get("Location"))
	}
	if got := want(t, c.get("/jobs?q="+url.QueryEscape(search)), 422); !strings.Contains(got.body, "stands in no address") {
		t.Errorf("%s", excerpt(got.body))
	}
	for _, unknown := range []string{"00000000-0000-4000-8000-000000000000", "x", strings.ToUpper(kept)} {
		want(t, c.get("/jobs?search="+unknown), 404)
	}

	// Programs do the same.
	made := want(t, c.api("/api/v1/searches", `{"q": "`+search+`"}`), 201).json(t)
	list := want(t, c.get("/api/v1/jobs?search="+made["id"].(string)), 200).json(t)
	jobs := list["jobs"].([]any)
	if len(jobs) != 1 || jobs[0].(map[string]any)["id"] != text(exact) || made["q"] != search {
		t.Errorf("%v %v", made, list)
	}
	code, field := want(t, c.get("/api/v1/jobs?q="+url.QueryEscape(search)), 422).fault(t)
	if code != "invalid" || field != "q" {
		t.Errorf("%s %s", code, field)
	}
	want(t, c.get("/api/v1/jobs?search=x"), 404)
	_, field = want(t, c.get("/api/v1/jobs?q=kind:a&search="+kept), 422).fault(t)
	if field != "search" {
		t.Errorf("both: %s", field)
	}
	var n int
	if err := c.owner.QueryRow(c.ctx, "select count(*) from fenceline.audit where action = 'search' and actor = 'local' and not detail::text ~ '1970670598291982290'").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d searches recorded: %v", n, err)
	}
}

func TestTheAPIReadsTheSameLanguageAndPagesBothWays(t *testing.T) {
	c := open(t)
	for range 7 {
		c.enqueue(store.Request{Kind: "mail"})
		c.enqueue(store.Request{Kind: "report"})
	}
	seen := map[string]bool{}
	ids := func(list map[string]any) (out []string) {
		for _, j := range list["jobs"].([]any) {
			out = append(out, j.(map[string]any)["id"].(string))
		}
		return out
	}
	var pages [][]string
	var last map[string]any
	for after := any(""); after != nil; after = last["next"] {
		last = want(t, c.get("/api/v1/jobs?q=kind:mail+state:available&limit=3&order=oldest&after="+after.(string)), 200).json(t)
		for _, id := range ids(last) {
			if seen[id] {
				t.Errorf("job %s twice", id)
			}
			seen[id] = true
		}
		pages = append(pages, ids(last))
	}
	if len(seen) != 7 || len(pages) != 3 || last["order"] != "oldest" || last["looked"] != nil {
		t.Errorf("%v %v", pages, last)
	}
	back := want(t, c.get("/api/v1/jobs?q=kind:mail+state:available&limit=3&order=oldest&before="+last["prev"].(string)), 200).json(t)
	if strings.Join(ids(back), " ") != strings.Join(pages[1], " ") {
		t.Errorf("back at %v, want %v", ids(back), pages[1])
	}
	if n := len(ids(want(t, c.get("/api/v1/jobs?q=-kind:mail&queue=default&kind=report"), 200).json(t))); n != 7 {
		t.Errorf("%d jobs by search and parameters", n)
	}
	for path, field := range map[string]string{
		"q=stat:running": "q", "q=kind:a+kind:b": "q", "q=%ff": "q", "order=best": "order", "after=x": "after", "before=1.x": "before", "after=1&before=2": "after",
		"after=5.5": "after", "order=finished&before=5": "before", "limit=0": "limit", "columns=kind": "columns", "state=done": "state", "kind=%ff": "kind", "queue=%00": "queue", "key=%ff": "key", "=1": `""`,
	} {
		if code, got := want(t, c.get("/api/v1/jobs?"+path), 422).fault(t); got != field || code != "invalid" {
			t.Errorf("%s: field %q, want %q", path, got, field)
		}
	}
	for _, body := range []string{`{"q": "stat:x"}`, `{}`, `{"q": 1}`, `{"q": "kind:a", "x": 1}`} {
		if got := c.api("/api/v1/searches", body); got.status != 422 && got.status != 400 && body != `{}` {
			t.Errorf("%s: %d", body, got.status)
		}
	}
}

func TestAListWhoseBrowserLeftIsCancelledInTheDatabase(t *testing.T) {
	t.Parallel()
	_, ownerURL := storetest.NewWithURL(t)
	// No timeout of the server's ends the statement within the test.
	slow, err := store.Open(t.Context(), store.Config{URL: ownerURL, LockTimeout: time.Hour, StatementTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.Close)
	c := openOn(t, slow, ownerURL, func(cfg *web.Config) { cfg.Patience = time.Hour })
	lock, err := pgx.Connect(c.ctx, ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close(context.Background())
	tx, err := lock.Begin(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(c.ctx, "lock table fenceline.jobs in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	waiting := func() (n int) {
		if err := c.owner.QueryRow(c.ctx, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	browser, leave := context.WithCancel(c.ctx)
	defer leave()
	for range 3 {
		r, err := http.NewRequestWithContext(browser, "GET", c.url+"/jobs?q=kind:rare", nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if resp, err := c.client.Do(r); err == nil {
				resp.Body.Close()
			}
		}()
	}
	c.eventually("three statements wait", func() bool { return waiting() == 3 })
	left := time.Now()
	leave()
	c.eventually("none waits", func() bool { return waiting() == 0 })
	t.Logf("cancelled %s after the browser left", time.Since(left))
}
