package views

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"golang.org/x/net/html"
)

// nodes parses a page and lists its elements.
func nodes(t *testing.T, page string) []*html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var out []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func TestNoPageNeedsInlineScriptOrStyle(t *testing.T) {
	for name, page := range samplePages() {
		for _, n := range nodes(t, render(t, page)) {
			if n.Data == "style" || n.Data == "script" && (attr(n, "src") == "" || n.FirstChild != nil) {
				t.Errorf("%s has an inline %s", name, n.Data)
			}
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") && (a.Key == "href" || a.Key == "src" || a.Key == "action") {
					t.Errorf("%s has %s=%q on %s", name, a.Key, a.Val, n.Data)
				}
			}
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	for _, name := range []string{"job-ugly", "jobs-ugly"} {
		for _, n := range nodes(t, render(t, samplePages()[name])) {
			if n.Data == "img" {
				t.Errorf("%s: a text became an element", name)
			}
		}
	}
	for _, text := range hostile {
		page := render(t, Error(ErrorPage{Frame: Frame{Asset: func(n string) string { return n }, Search: text, Actor: text, Done: Flash(text)}, Status: 400, Message: text, Field: text, RequestID: text}))
		for _, n := range nodes(t, page) {
			if n.Data == "img" || n.Data == "script" && attr(n, "src") != "app.js" {
				t.Errorf("%q became an element", text)
			}
		}
	}
}

func TestEveryAddressStaysUnderThePrefix(t *testing.T) {
	for name, page := range samplePages() {
		for _, n := range nodes(t, render(t, page)) {
			for _, key := range []string{"href", "src", "action", "data-stream", "data-worker"} {
				if v := attr(n, key); v != "" && !(name == "sign-in-on" && v == providersPage) && !strings.HasPrefix(v, "/ops/") && !strings.HasPrefix(v, "#") {
					t.Errorf("%s: %s=%q of %s leaves the prefix", name, key, v, n.Data)
				}
			}
		}
	}
}

func TestEveryIdIsThereOnce(t *testing.T) {
	for name, page := range samplePages() {
		seen := map[string]bool{}
		for _, n := range nodes(t, render(t, page)) {
			id := attr(n, "id")
			if id != "" && seen[id] {
				t.Errorf("%s: id %q is there twice", name, id)
			}
			seen[id] = true
		}
	}
}

func TestEveryLabelAndDescriptionPointsAtSomething(t *testing.T) {
	for name, page := range samplePages() {
		all := nodes(t, render(t, page))
		ids := map[string]bool{}
		for _, n := range all {
			ids[attr(n, "id")] = true
		}
		for _, n := range all {
			for _, key := range []string{"for", "aria-labelledby", "aria-describedby"} {
				if v := attr(n, key); v != "" && !ids[v] {
					t.Errorf("%s: %s=%q points at nothing", name, key, v)
				}
			}
		}
	}
}

func TestEachPartOfALivePageHasOneRootNamedAfterTheJob(t *testing.T) {
	f := frame(TopicJob(70412))
	for _, part := range JobParts(JobPage{Frame: f, View: twoWorkers().view()}) {
		body := nodes(t, render(t, part))[2]
		if body.FirstChild == nil || body.FirstChild != body.LastChild || !strings.HasPrefix(attr(body.FirstChild, "id"), "job-70412-") {
			t.Errorf("a part is not one root with the job in its id: %s", render(t, part)[:120])
		}
	}
}

func TestAPageThatShowsItsOwnWayReadsItselfAgainOnAPatch(t *testing.T) {
	page := render(t, Job(JobPage{Frame: frame(TopicJob(70412)), View: twoWorkers().view(), Zoom: 41}))
	if !strings.Contains(page, `id="job-70412-lanes-own"`) || !strings.Contains(page, `data-refetch="job-70412-lanes"`) {
		t.Error("the zoomed lanes would be overwritten by the stream's")
	}
}

func TestFormsCarryTheRevisionThatIsSeen(t *testing.T) {
	p := twoWorkers()
	page := render(t, jobSample(p))
	n := 0
	for _, e := range nodes(t, page) {
		if e.Data == "input" && attr(e, "name") == FieldSeen {
			n++
			if attr(e, "value") != decimal(p.job.Revision) {
				t.Errorf("the form is bound to revision %s, the page shows %d", attr(e, "value"), p.job.Revision)
			}
		}
	}
	if n != 5 { // of a running job: all but erase
		t.Errorf("%d forms carry a revision, want 5", n)
	}
}

func TestAnActionThatIsNotPossibleSaysWhy(t *testing.T) {
	page := render(t, jobSample(newPlay().at(time.Second)))
	if !strings.Contains(page, "It is already waiting to be claimed.") || strings.Contains(page, `action="/ops/jobs/70412/requeue"`) {
		t.Error("requeue of a waiting job is offered, or its absence not explained")
	}
	page = render(t, jobSample(newPlay().terminate("x")))
	if !strings.Contains(page, "It has already ended: it is terminated.") || strings.Contains(page, `action="/ops/jobs/70412/terminate"`) {
		t.Error("terminate of an ended job is offered, or its absence not explained")
	}
}

func TestAConflictKeepsTheReasonAndOffersTheNewRevision(t *testing.T) {
	p := sampleConflict()
	page := render(t, Action(p))
	for _, want := range []string{">It has run for too long.</textarea>", `name="seen" value="` + decimal(p.Form.Job.Revision) + `"`,
		"the job changed since you looked", "completed", "numbers were wrong"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	p.Form.Job.State = store.Discarded
	p.Conflict.Why = store.ConflictAlreadyEnded
	page = render(t, Action(p))
	if strings.Contains(page, "<textarea") || !strings.Contains(page, "It has run for too long.") {
		t.Error("an action that is not possible any more is offered, or what was typed is lost")
	}
}

func TestRenewalsFoldAndTheirDetailsAreBounded(t *testing.T) {
	rows := foldRows(manyRenewals(5000).log)
	if len(rows) != 3 || len(rows[2].Renewals) != 5000 {
		t.Fatalf("got %d rows", len(rows))
	}
	page := render(t, jobSample(manyRenewals(5000)))
	if len(page) > 60_000 {
		t.Errorf("the page of 5,000 renewals is %d bytes", len(page))
	}
	if !strings.Contains(page, "4,960 earlier renewals") || !strings.Contains(page, "×5,000") {
		t.Error("the fold does not tell what it leaves out")
	}
}

func TestARowOfRenewalsKeepsItsIdWhileItGrows(t *testing.T) {
	p := twoWorkers()
	before := foldRows(p.log)
	p.at(48 * time.Second).renew()
	if rows := foldRows(p.log); rows[len(rows)-1].rowID() != before[len(before)-1].rowID() || len(rows) != len(before) {
		t.Error("a further renewal made another row")
	}
}

func TestARefusalStandsBetweenRenewalsInItsPlace(t *testing.T) {
	p := newPlay().claim("a").renew().renew()
	p.reject(1, store.OpRenew, store.ReasonSuperseded)
	rows := foldRows(p.renew().renew().log)
	var types []string
	for _, r := range rows {
		types = append(types, string(r.Type)+strconv.Itoa(len(r.Renewals)))
	}
	if got := strings.Join(types, " "); got != "enqueued0 claimed0 renewed2 rejected0 renewed2" {
		t.Errorf("the rows are %s", got)
	}
}

func TestEqualErrorsAreOneWithAllTheirAttempts(t *testing.T) {
	groups := groupErrors(manyAttempts(12).fails)
	if len(groups) != 2 {
		t.Fatalf("got %d groups, want one for each class", len(groups))
	}
	if groups[0].At.Before(groups[1].At) {
		t.Error("the group that failed last is not first")
	}
	if got := groups[0].generations(); got != "1, 5, 7, 11" {
		t.Errorf("its attempts are %q", got)
	}
}

func TestDigitsOfBigNumbersAreKept(t *testing.T) {
	text, cut := PrettyJSON(json.RawMessage(`{"n":90071992547409931234,"x":1.10,"y":2e400}`))
	if cut || !strings.Contains(text, "90071992547409931234") || !strings.Contains(text, "1.10") || !strings.Contains(text, "2e400") {
		t.Errorf("got %s", text)
	}
}

func TestAnUglyPayloadIsShownAsItIsUpToABound(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	if text, cut := PrettyJSON(json.RawMessage(deep)); cut || text != deep {
		t.Errorf("a deep payload became %d bytes", len(text))
	}
	long := `"` + strings.Repeat("Ж", 1<<20) + `"`
	text, cut := PrettyJSON(json.RawMessage(long))
	if !cut || len(text) > 2*payloadShown || !strings.HasPrefix(long, text) {
		t.Errorf("a long payload became %d bytes, cut %v", len(text), cut)
	}
}

func TestEmptyPagesTeach(t *testing.T) {
	page := render(t, samplePages()["home-empty"])
	for _, want := range []string{"leases that are enforced where the result is written", `action="/ops/drill"`, "fenceline enqueue noop"} {
		if !strings.Contains(page, want) {
			t.Errorf("the empty triage page does not have %q", want)
		}
	}
	if !strings.Contains(render(t, samplePages()["jobs-bound"]), "The search stopped after 20,000 jobs") {
		t.Error("a search that stopped at its bound does not say so")
	}
}

func TestEveryTimeIsAbsoluteWithoutScript(t *testing.T) {
	utc := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$`)
	for name, page := range samplePages() {
		for _, n := range nodes(t, render(t, page)) {
			if n.Data != "time" {
				continue
			}
			if !utc.MatchString(attr(n, "title")) || attr(n, "datetime") == "" || attr(n, "data-show") == "" {
				t.Errorf("%s: a time has title %q", name, attr(n, "title"))
			}
		}
	}
}

func TestAddressesOfTheListKeepTheFilter(t *testing.T) {
	u := URLs{Base: "/ops"}
	got := u.Jobs(store.Filter{State: store.Running, Kind: "a&b=c", Queue: "ü", After: store.Place{ID: 7}})
	if got != "/ops/jobs?after=7&q=state%3Arunning+kind%3Aa%26b%3Dc+queue%3A%C3%BC" {
		t.Errorf("got %s", got)
	}
	if u.JobDone(7, FlashRequeued) != "/ops/jobs/7?done=requeued" || (URLs{}).Home() != "/" || u.Home() != "/ops/" {
		t.Error("an address is built otherwise")
	}
	if KnownFlash("<script>") != "" || KnownFlash("requeued").Text() == "" {
		t.Error("a flash is told by a text and not by a code of the list")
	}
}

func TestDurationsAndCountsAreReadable(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 ms", 999 * time.Millisecond: "999 ms", 1050 * time.Millisecond: "1.0 s", 59 * time.Second: "59 s",
		724 * time.Second: "12 m 04 s", 3*time.Hour + 12*time.Minute: "3 h 12 m", 47 * time.Hour: "47 h 00 m", 100 * time.Hour: "4 d 4 h", -5 * time.Second: "5.0 s"} {
		if got := Span(d); got != want {
			t.Errorf("%s is written %q, want %q", d, got, want)
		}
	}
	if Grouped(48201337) != "48,201,337" || Grouped(-1000) != "-1,000" || Grouped(12) != "12" || CountText(store.Count{N: 10000, Capped: true}) != "10,000+" {
		t.Error("a count is written otherwise")
	}
	if got := MiddleCut("worker-a2-4411-91d07c3e", 12); got != "worke…d07c3e" {
		t.Errorf("a long name is cut to %q", got)
	}
}
