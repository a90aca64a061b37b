package browser

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views/chrometest"
)

// What people and programs put where text is shown: each would open a dialog,
// break the policy, or tear an event of the stream if it were taken for more
// than text.
const (
	markup   = `"><img src=x onerror=alert(1)><script>alert(2)</script>`
	quotes   = `'-alert(3)-' javascript:alert(4) {{constructor.constructor('alert(5)')()}}`
	torn     = "line one\r\ndata: forged\n\nevent: patch\ndata: <p id=\"flash\">forged</p>\rid: 99999999999\n\n"
	selector = `"], #main, [x="`
)

// hostileJob works a job whose every text is hostile, while its page and the
// lists are open.
func (s *site) hostileJob(kind string) int64 {
	s.t.Helper()
	args, err := json.Marshal(map[string]any{markup: markup, "url": "javascript:alert(6)", "text": torn + quotes})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.enqueue(store.Request{Kind: kind, Queue: quotes, Key: kind + selector, Args: args, Tags: []string{markup, quotes}, MaxAttempts: 2})
}

// failsHostile claims the job as a hostile worker and fails it with hostile
// words.
func (s *site) failsHostile(kind string) {
	s.t.Helper()
	got, err := s.store.Claim(s.ctx, store.ClaimParams{Worker: markup, Queue: quotes,
		Kinds: []store.KindLease{{Kind: kind, Lease: time.Minute}}, AttemptIDs: []uuid.UUID{uuid.New()}})
	if err != nil || len(got) != 1 {
		s.t.Fatalf("%d were claimed: %v", len(got), err)
	}
	s.accepted(s.store.Fail(s.ctx, markup, []store.Failure{{Lease: got[0].Lease, Permanent: true,
		Error: store.AttemptError{Class: markup, Message: torn + markup, Trace: torn + quotes}, Output: torn + markup}}))
}

// Case B43, and the stream's part of it.
func TestHostileTextsStayTextsOnThePageAndThroughTheStream(t *testing.T) {
	s := open(t)
	s.enqueue(store.Request{Kind: "quiet"})
	list, home := s.visit("/jobs"), s.visit("/")
	id := s.hostileJob(markup)
	for _, tab := range []*chrometest.Tab{list, home} {
		tab.Until(`!document.getElementById('waiting').hidden`)
		tab.Click("#waiting")
		tab.Until(`document.querySelector('#rows tr').textContent.includes(` + literal(markup) + `)`)
	}
	tab := s.visit(jobPath(id))
	s.failsHostile(markup)
	s.requeue(id, torn+markup)
	tab.Until(`document.querySelector('.story').textContent.includes('line one')`)
	s.failsHostile(markup)
	tab.Until(lastRow + ` === 'failed' && document.querySelector('.error')`)
	s.showsAll(tab, id)
	list.Until(`document.querySelector('#rows tr').dataset.state === 'discarded'`)
	for where, text := range map[string]string{"h1": markup, ".key": selector, ".error": "event: patch", ".facts .tags": quotes, "#transitions-rows": "data: forged"} {
		if got := tab.Text(where); !strings.Contains(got, text) {
			t.Errorf("%s does not show %q but %q", where, text, got)
		}
	}
	for _, tab := range []*chrometest.Tab{list, home, tab} {
		s.same("elements made of text", chrometest.Eval[int](tab, `document.querySelectorAll('img, main script, main #flash, iframe').length`), 0)
		s.same("the line", chrometest.Eval[string](tab, liveState), "live")
		s.notReloaded(tab)
	}
}

func TestHostileTextsStayTextsOnEveryPageThatEchoesThem(t *testing.T) {
	s := open(t)
	id := s.hostileJob(markup)
	s.failsHostile(markup)
	tab := chrometest.Open(t)
	for _, text := range []string{markup + quotes, selector} {
		q := url.QueryEscape(text)
		for _, path := range []string{"/jobs?q=" + q, "/jobs?kind=" + q, "/jobs?queue=" + q, "/jobs?key=" + q, "/jobs?state=" + q, "/jobs?before=" + q,
			jobPath(id) + "?done=" + q, jobPath(id) + "?attempt=" + q, "/jobs/" + url.PathEscape(text), "/" + url.PathEscape(text)} {
			tab.Load(s.url + path)
			if n := chrometest.Eval[int](tab, `document.querySelectorAll('img, main script, iframe').length`); n != 0 || !tab.Holds(`document.getElementById('main')`) {
				t.Errorf("%s: %d elements were made of the text", path, n)
			}
		}
	}
	tab.Load(s.url + "/jobs?kind=" + url.QueryEscape(markup))
	tab.Live()
	s.same("rows of the hostile kind", chrometest.Eval[int](tab, `document.querySelectorAll('#rows tr').length`), 1)
	s.same("the kind in the form", chrometest.Eval[string](tab, `document.querySelector('main [name=f-kind]').value`), search.Quote(markup))
	tab.Click("#rows a")
	tab.Until(`document.querySelector('form[action$=reveal]') && document.readyState === 'complete'`)
	s.same("the title", chrometest.Eval[bool](tab, `document.title.startsWith(`+literal(markup)+`)`), true)
	ask(tab, store.ActionRequeue, markup)
	s.requeue(id, quotes)
	send(tab, store.ActionRequeue)
	tab.Until(`document.querySelector('.conflict')`)
	s.same("the typed reason", chrometest.Eval[string](tab, `document.querySelector('textarea, blockquote').textContent`), markup)
	tab.Load(s.url + jobPath(id))
	tab.Click("form[action$=reveal] button")
	tab.Until(`document.querySelector('main').textContent.includes('javascript:alert(6)')`)
	s.same("links made of args", chrometest.Eval[int](tab, `document.querySelectorAll('main a[href^=javascript]').length`), 0)
}

// literal writes a text as a literal of the page's script.
func literal(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
