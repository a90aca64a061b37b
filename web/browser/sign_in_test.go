package browser

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

// From the printed link to the end of the session, as a person goes through it;
// then what only people who are signed in see, filled with hostile texts.
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
	s.administers(tab, look)
	s.hostileBehindSignIn(tab)
}

// administers makes an account's token and changes what it may do, by the forms.
func (s *site) administers(tab *chrometest.Tab, look func(string)) {
	s.t.Helper()
	grace, err := s.store.AddPerson(s.ctx, "test", "grace", store.Powers{Role: store.RoleViewer}, "x")
	if err != nil {
		s.t.Fatal(err)
	}
	tab.Load(s.url + "/people")
	look("people")
	tab.Click(`main a[href$="/people/` + strconv.FormatInt(grace.ID, 10) + `"]`)
	tab.Until(`document.querySelector('main form[action$="/powers"]') && document.readyState === 'complete'`)
	look("person")
	chrometest.Eval[any](tab, `document.querySelector('form[action$="/powers"] select').value = 'operator', 1`)
	tab.Click(`form[action$="/powers"] input[name=bulk]`)
	tab.Click(`form[action$="/powers"] button`)
	tab.Until(`document.getElementById('flash') && document.readyState === 'complete'`)
	s.same("what grace may do", value[string](s, `select role || ' ' || rights::text from fenceline.people where name = 'grace'`), "operator {bulk}")
	tab.Type(`form[action$="/tokens"] input[name=name]`, "deploy")
	tab.Click(`form[action$="/tokens"] button`)
	tab.Until(`document.getElementById('made')?.textContent.startsWith('fnc_')`)
	look("a new token")
	s.same("tokens as hashes", value[bool](s, `select bool_and(token_hash not like 'fnc%') from fenceline.tokens`), true)
}

// hostileBehindSignIn visits what only people who are signed in see, filled with
// hostile texts, first as an admin and then as somebody whose very powers hold
// such texts.
func (s *site) hostileBehindSignIn(tab *chrometest.Tab) {
	s.t.Helper()
	id := s.hostileJob(markup)
	s.failsHostile(markup)
	s.requeue(id, torn+markup)
	ada, err := s.store.PersonNamed(s.ctx, "ada")
	if err != nil {
		s.t.Fatal(err)
	}
	other := store.KeptSignIn{TokenHash: "other", PersonID: ada.ID, Address: markup, Agent: markup + quotes, Data: []byte{}, Idle: time.Hour, Most: time.Hour}
	if err := s.store.KeepSignIn(s.ctx, other); err != nil {
		s.t.Fatal(err)
	}
	powers := store.Powers{Role: store.RoleViewer, Queues: []string{markup, selector}}
	if _, err := s.store.SetPowers(s.ctx, "test", store.SeenPerson{Name: "grace"}, powers); err != nil {
		s.t.Fatal(err)
	}
	visit := func(paths ...string) {
		s.t.Helper()
		for _, path := range paths {
			tab.Load(s.url + path)
			if n := chrometest.Eval[int](tab, `document.querySelectorAll('img, main script, iframe').length`); n != 0 || !tab.Holds(`document.getElementById('main')`) {
				s.t.Errorf("%s: %d elements were made of texts", path, n)
			}
		}
	}
	own := "/people/" + strconv.FormatInt(ada.ID, 10)
	visit("/", "/jobs", "/queues", "/people", own, "/people/2", "/audit", "/account", jobPath(id))
	tab.Until(liveState + ` === 'live'`)
	if _, err := s.store.SetPowers(s.ctx, "test", store.SeenPerson{Name: "ada", Elsewhere: true}, powers); err != nil {
		s.t.Fatal(err)
	}
	visit("/", "/jobs", jobPath(id), "/audit", "/account", "/people")
	tab.Load(s.url + jobPath(id))
	tab.Until(`document.querySelector('main').textContent.includes('acting needs operator')`)
	if _, err := s.owner.Exec(s.ctx, `delete from fenceline.sign_ins`); err != nil {
		s.t.Fatal(err)
	}
	visit("/jobs?kind="+url.QueryEscape(markup), "/sign-in?next="+url.QueryEscape("/jobs?q="+markup))
}
