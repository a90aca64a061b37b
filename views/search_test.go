package views

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

func TestTheLineAndTheControlsAreOneSearch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("/ops/jobs", Jobs(listSample("kind:report attempts:>3", store.Page{Jobs: sampleJobs(3)})))
	s.Load(s.url + "/ops/jobs")
	s.Until(`document.querySelector('#line').getAttribute('role') === 'combobox'`)
	line := `document.querySelector('#line').value`
	control := func(field string) string { return `document.querySelector('[data-field=` + field + `]').value` }
	s.same(control("kind"), "report")
	s.same(control("attempts"), ">3")

	// A control changes its term, and takes it out when it is emptied.
	chrometest.Eval[any](s.Tab, `(() => { for (const [field, value] of [['queue', 'two words'], ['kind', ''], ['state', 'running']]) {
		const c = document.querySelector('[data-field=' + field + ']'); c.value = value; c.dispatchEvent(new Event('input', { bubbles: true })); } })()`)
	s.same(line, `attempts:>3 queue:"two words" state:running`)

	// The line changes the controls, also to what they do not offer.
	chrometest.Eval[any](s.Tab, `(() => { const l = document.querySelector('#line'); l.value = ''; l.focus(); })()`)
	s.Type("#line", `state:running,retryable kind:"a b" `)
	s.same(control("state"), "running,retryable")
	s.same(control("kind"), `"a b"`)
	s.same(control("queue"), "")
}

func TestWhatIsTypedIsCompleted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("/ops/jobs", Jobs(listSample("", store.Page{Jobs: sampleJobs(3)})))
	s.Load(s.url + "/ops/jobs")
	s.Until(`document.querySelector('#line').getAttribute('role') === 'combobox'`)
	line := `document.querySelector('#line').value`
	offered := `[...document.querySelectorAll('#offers:not([hidden]) bdi')].map(b => b.textContent).join(' ')`
	s.Type("#line", "ki")
	s.same(offered, "kind:")
	s.Press(kb.ArrowDown)
	s.Until(`document.querySelector('#line').getAttribute('aria-activedescendant') === 'offer-0'`)
	s.Press(kb.Enter)
	s.same(line, "kind:")
	s.same(offered, `invoice report "a b"`)
	s.Type("#line", "re")
	s.same(offered, "report")
	s.Press(kb.ArrowDown)
	s.Press(kb.Enter)
	s.same(line, "kind:report ")
	s.Type("#line", "-state:completed,d")
	s.same(offered, "discarded")
	s.Press(kb.Escape)
	s.same(offered, "")
	s.same(line, "kind:report -state:completed,d")
	s.same(`document.activeElement.id`, "line")
}

// same waits until an expression is this text.
func (s *stage) same(js, want string) {
	s.t.Helper()
	text, err := json.Marshal(want)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Until(js + " === " + string(text))
}
