package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// pages are addresses of one page of every sort, filled by real jobs.
func (s *site) pages() map[string]string {
	s.t.Helper()
	failed := s.spent(store.Request{Kind: "mail", Key: "mail/1", Tags: []string{"billing"}})
	s.requeue(failed, "the archive is back")
	s.fail(s.claim("mail", time.Minute), store.AttemptError{Class: "timeout", Message: "no answer", Trace: strings.Repeat("main.go:12\n", 30)})
	done := s.enqueue(store.Request{Kind: "invoice"})
	s.complete(s.claim("invoice", time.Minute), `{"pages": 3}`)
	running := s.enqueue(store.Request{Kind: "report"})
	lease := s.claim("report", time.Minute)
	s.renew(lease, time.Minute)
	s.renew(lease, time.Minute)
	waiting := s.enqueue(store.Request{Kind: "export", RunAt: time.Now().Add(time.Hour)})
	changed := s.spent(store.Request{Kind: "letter", Tags: []string{"billing"}})
	if _, err := s.store.RequeueWith(s.ctx, store.OperatorParams{JobID: changed, Seen: s.job(changed).Revision, Actor: "anna", Reason: "the address"}, store.NewArgs{Args: []byte(`{"n": 2}`)}); err != nil {
		s.t.Fatal(err)
	}
	return map[string]string{"changed": jobPath(changed), "home": "/", "list": "/jobs", "empty list": "/jobs?kind=none", "wrong filter": "/jobs?state=nonsense", "failed": jobPath(failed),
		"completed": jobPath(done), "running": jobPath(running), "scheduled": jobPath(waiting), "not found": "/jobs/999"}
}

func TestNoPageHasABarrierOrIsWiderThanItsScreen(t *testing.T) {
	script := chrometest.Axe(t)
	s := open(t)
	tab := chrometest.Open(t)
	pages := s.pages()
	for _, scheme := range []string{"light", "dark"} {
		tab.Scheme(scheme)
		for name, path := range pages {
			tab.Size(1360, 900)
			tab.Load(s.url + path)
			if found := tab.Barriers(script); found != "" {
				t.Errorf("%s, %s: %s", name, scheme, found)
			}
			tab.Size(360, 800)
			if over := chrometest.Eval[int](tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s is %d px too wide for a phone", name, over)
			}
		}
	}
}
