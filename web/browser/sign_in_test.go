package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

// From the printed link to the end of the session, as a person goes through it.
func TestAPersonSetsUpSignsInAndIsSignedOut(t *testing.T) {
	s := open(t, func(s *site) {
		s.config.SignIn = &web.SignIn{Passwords: true}
		s.config.Heartbeat = 200 * time.Millisecond
	})
	code := access.NewCode()
	if err := s.store.KeepSetupCode(s.ctx, access.Hash(code)); err != nil {
		t.Fatal(err)
	}
	job, err := s.store.Enqueue(s.ctx, store.Request{Kind: "report"})
	if err != nil {
		t.Fatal(err)
	}
	tab := chrometest.Open(t)
	look := func(what string) {
		t.Helper()
		tab.Size(400, 800)
		if wide := chrometest.Eval[int](tab, `document.documentElement.scrollWidth`); wide > 400 {
			t.Errorf("%s is %d wide in 400", what, wide)
		}
		tab.Size(1280, 800)
	}
	const password = "four plain words, spoken"
	tab.Load(s.url + "/set-up#" + code)
	tab.Until(`document.getElementById('setup-code').value.length > 40 && location.hash === ''`)
	look("set-up")
	tab.Type(`input[name=name]`, "ada")
	tab.Type(`input[name=new-password]`, password)
	tab.Click(`main button`)
	tab.Until(`document.querySelector('a.actor')?.textContent === 'ada'`)
	tab.Load(s.url + "/account")
	look("account")
	tab.Click(`.head button`)
	tab.Until(`location.pathname === '/sign-in'`)
	look("sign-in")

	// To where they were going.
	page := jobPath(job.ID)
	tab.Load(s.url + page)
	tab.Until(`location.pathname === '/sign-in'`)
	tab.Type(`input[name=name]`, "ada")
	tab.Type(`input[name=password]`, password)
	tab.Click(`main button`)
	tab.Until(`location.pathname === '` + page + `'`)
	tab.Live()
	// The session ends while something is being typed.
	ask(tab, store.ActionTerminate, `the vendor's <i>file</i>`)
	if _, err := s.owner.Exec(s.ctx, `delete from fenceline.sign_ins`); err != nil {
		t.Fatal(err)
	}
	tab.Until(`document.getElementById('live-text').textContent === 'signed out'`)
	send(tab, store.ActionTerminate)
	tab.Until(`document.querySelector('blockquote')?.textContent === "the vendor's <i>file</i>"`)
	look("signed-out")
	tab.Type(`input[name=name]`, "ada")
	tab.Type(`input[name=password]`, password)
	tab.Click(`main button`)
	tab.Until(`document.getElementById('kept-reason')?.value === "the vendor's <i>file</i>"`)
	look("resend")
	tab.Click(`main button`)
	tab.Until(`location.pathname === '` + page + `' && document.getElementById('flash')`)
	s.same("who terminated it", value[string](s, `select actor || ': ' || reason from fenceline.transitions where type = 'terminated'`), `ada: the vendor's <i>file</i>`)
	if got := value[string](s, `select string_agg(coalesce(detail::text, ''), ' ') from fenceline.audit`); strings.Contains(got, password) {
		t.Error("the audit holds a password")
	}
}
