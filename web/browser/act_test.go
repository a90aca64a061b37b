package browser

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
	"github.com/fenceline/fenceline/worker"
)

// ask opens an action's dialog with the mouse and types a reason.
func ask(tab *chrometest.Tab, action store.Action, reason string) {
	tab.Click("#act-" + string(action) + " summary")
	tab.Until(`document.querySelector('#act-` + string(action) + ` dialog').matches(':modal')`)
	tab.Type("#reason-"+string(action), reason)
}

func send(tab *chrometest.Tab, action store.Action) {
	tab.Click("#act-" + string(action) + " .solid")
}

func TestARequeueWithAReasonIsDoneAndTold(t *testing.T) {
	s := open(t)
	id := s.spent(store.Request{Kind: "report"})
	tab := s.visit(jobPath(id))
	s.same("the state before", chrometest.Eval[string](tab, badge), "discarded")
	ask(tab, store.ActionRequeue, "the archive is back")
	send(tab, store.ActionRequeue)
	tab.Until(`document.getElementById('flash')?.textContent.startsWith('Requeued.')`)
	s.same("the state after", chrometest.Eval[string](tab, badge), "available")
	tab.Until(`(s => s?.includes('local put it back at ') && s.includes('“the archive is back”'))(document.querySelector('.story')?.textContent)`)
	j := s.job(id)
	s.same("the stored state", j.State, store.Available)
	s.same("the budget", j.MaxAttempts, 2)
	s.same("what is recorded", value[string](s, `select actor || ': ' || reason from fenceline.transitions where job_id = $1 and type = 'requeued'`, id), "local: the archive is back")
	s.same("the audit", value[string](s, `select outcome || ' ' || reason from fenceline.audit where job_id = $1`, id), "done the archive is back")
	tab.Live()
	s.complete(s.claim("report", shortLease), `{}`)
	tab.Until(badge + ` === 'completed'`)
}

func TestTerminatingARunningJobStopsItsHandlerAndRefusesItsLateSuccess(t *testing.T) {
	s := open(t)
	h := s.work("report")
	id := s.enqueue(store.Request{Kind: "report"})
	tab := s.visit(jobPath(id))
	tab.Until(badge + ` === 'running'`)
	ask(tab, store.ActionTerminate, "wrong customer")
	send(tab, store.ActionTerminate)
	tab.Until(`document.getElementById('flash')?.textContent.includes('effects outside the database may still be under way')`)
	tab.Until(badge + ` === 'terminated'`)
	tab.Until(`document.querySelector('.story')?.textContent.includes('its process may still be running, and effects outside the database may be under way')`)
	tab.Live()
	mark(tab)
	if why := h.loses(); !errors.Is(why, worker.ErrTerminated) {
		t.Errorf("the handler's context ended with %v", why)
	}
	h.returns(nil)
	const late = `[...document.querySelectorAll('tr.refused')].some(r => /terminated\s+complete, offered 1/.test(r.textContent))`
	tab.Until(late)
	tab.Until(`[...document.querySelectorAll('.lane .diamond title')].some(t => t.textContent.includes('complete refused, terminated'))`)
	if !tab.Holds(`(([r, g, b]) => r > g + 60 && b > g + 60)(getComputedStyle(document.querySelector('.lane .diamond path')).fill.match(/\d+/g).map(Number))`) {
		t.Error("the diamond is not magenta")
	}
	s.notReloaded(tab)
	s.same("the stored state", s.job(id).State, store.Terminated)
	s.same("stored results", value[int](s, `select count(result) from fenceline.jobs where id = $1`, id), 0)
}

// Case B13.
func TestARequeuePressedAgainAndAgainIsDoneOnce(t *testing.T) {
	s := open(t)
	id := s.spent(store.Request{Kind: "report"})
	tab := s.visit(jobPath(id))
	answers := chrometest.Eval[string](tab, `Promise.all([...Array(20)].map(() => fetch('`+jobPath(id)+`/requeue', {method: 'POST', redirect: 'manual',
		body: new URLSearchParams({reason: 'again', seen: '`+strconv.FormatInt(s.job(id).Revision, 10)+`'})})))
		.then(all => all.map(a => a.type === 'opaqueredirect' ? 'done' : a.status).sort().join(' '))`)
	s.same("the answers", answers, strings.Repeat("409 ", 19)+"done")
	s.same("requeues recorded", value[int](s, `select count(*) from fenceline.transitions where job_id = $1 and type = 'requeued'`, id), 1)
	s.fail(s.claim("report", shortLease), store.AttemptError{Class: "timeout"})
	s.same("the generation", s.job(id).Generation, 2)

	tab.Until(badge + ` === 'discarded'`)
	ask(tab, store.ActionRequeue, "twice")
	chrometest.Eval[any](tab, `(b => { b.click(); b.click(); b.click() })(document.querySelector('#act-requeue .solid'))`)
	tab.Until(`document.querySelectorAll('#flash').length === 1`)
	s.same("requeues recorded", value[int](s, `select count(*) from fenceline.transitions where job_id = $1 and type = 'requeued'`, id), 2)
}

func TestWhoLooksAtAnOldRevisionIsToldWhatChangedAndKeepsTheReason(t *testing.T) {
	s := open(t)
	id := s.spent(store.Request{Kind: "report"})
	first, second := s.visit(jobPath(id)), s.visit(jobPath(id))
	ask(second, store.ActionRequeue, "figures corrected; asked by Müller & <Söhne>")
	const place = `JSON.stringify(document.querySelector('#act-requeue .solid').getBoundingClientRect())`
	before := chrometest.Eval[string](second, place)
	ask(first, store.ActionRequeue, "the archive is back")
	send(first, store.ActionRequeue)
	first.Until(`document.getElementById('flash')`)
	s.complete(s.claim("report", shortLease), `{}`)
	second.Until(`document.querySelector('#act-requeue .behind').checkVisibility({visibilityProperty: true})`)
	s.same("the place of the button, once told that the job has changed", chrometest.Eval[string](second, place), before)
	send(second, store.ActionRequeue)
	second.Until(`document.querySelector('.conflict')`)
	s.same("the status", chrometest.Eval[int](second, `performance.getEntriesByType('navigation')[0].responseStatus`), 409)
	s.same("the reason", chrometest.Eval[string](second, `document.querySelector('textarea').value`), "figures corrected; asked by Müller & <Söhne>")
	s.same("what changed", chrometest.Eval[string](second, `[...document.querySelectorAll('#since-rows tr')].map(r => r.dataset.type).join(' ')`), "requeued claimed completed")
	if text := second.Text("#since-rows tr"); !strings.Contains(text, "the archive is back") {
		t.Errorf("what changed first is told as %q", text)
	}
	s.same("the state", s.job(id).State, store.Completed)

	second.Click("form.action .solid")
	second.Until(`document.getElementById('flash')?.textContent.startsWith('Requeued.')`)
	s.same("the state", s.job(id).State, store.Available)
	s.same("the reason recorded", value[string](s, `select reason from fenceline.transitions where job_id = $1 order by id desc limit 1`, id), "figures corrected; asked by Müller & <Söhne>")
	s.same("the audit", value[string](s, `select string_agg(outcome, ' ' order by id) from fenceline.audit where job_id = $1`, id), "done changed done")
}
