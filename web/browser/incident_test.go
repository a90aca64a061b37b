package browser

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views/chrometest"
)

// judged has the log counted and the rules look at it once.
func (s *site) judged() {
	s.t.Helper()
	storetest.AwaitHorizon(s.t, s.ownerURL)
	if _, err := s.store.Roll(s.ctx); err != nil {
		s.t.Fatal(err)
	}
	facts, err := s.store.Facts(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	var found []store.Sighting
	for _, f := range detect.Judge(facts, detect.Defaults()) {
		found = append(found, f.Sighting())
	}
	if did, err := s.store.Watch(s.ctx, found, time.Hour); err != nil || did.Busy {
		s.t.Fatal(did, err)
	}
}

// An incident is taken, noted, its jobs are requeued from its page, it is
// resolved, and opens again by what fails afterwards.
func TestAnIncidentIsTakenActedOnResolvedAndOpensAgainByWhatFailsAfter(t *testing.T) {
	s := open(t)
	failures := func() (ids []int64) {
		for range 3 {
			ids = append(ids, s.spent(store.Request{Kind: "report"}))
		}
		s.judged()
		return ids
	}
	ids := failures()
	tab := s.visit("/")
	tab.Click("#open-incidents td a")
	state := func(words string) {
		tab.Until(`document.querySelector('#incident-head .head')?.textContent.replace(/\s+/g, ' ').includes(` + literal(words) + `)`)
	}
	state("nobody has it")
	do := func(what store.IncidentAction, reason string) {
		tab.Type("#incident-reason", reason)
		tab.Click("#incident-acts button[value=" + string(what) + "]")
		tab.Until(`document.getElementById('incident-timeline')?.textContent.includes(` + literal(reason) + `)`)
	}
	do(store.IncidentAcknowledge, "I look at it")
	state("local has it")
	do(store.IncidentNote, "the archive was down")

	tab.Click("#incident-bulk button[value^=requeue]")
	tab.Until(`document.querySelector('#operation-head .badge')?.textContent.trim() === 'preview'`)
	s.same("what a preview does", value[int](s, `select count(*) from fenceline.transitions where type = 'requeued'`), 0)
	tab.Type("#reason-confirm", "the archive is back")
	tab.Click("#confirm .solid")
	tab.Until(`document.querySelector('#operation-head .badge')?.textContent.trim() === 'running'`)
	tab.Live()
	mark(tab)
	if step, err := s.store.StepOperation(s.ctx, "w-1"); err != nil || step.Position != 3 {
		t.Fatalf("%+v %v", step, err)
	}
	tab.Until(`document.querySelector('#operation-head .badge').textContent.trim() === 'finished' && document.querySelector('progress').value === 3`)
	s.notReloaded(tab)
	for _, id := range ids {
		s.same("a job of the incident", s.job(id).State, store.Available)
	}
	s.same("who did it and why", value[string](s, `select string_agg(distinct actor || ': ' || reason, ', ') from fenceline.transitions where type = 'requeued'`), "local: the archive is back")

	tab.Load(s.url + "/incidents/1")
	state("local has it")
	do(store.IncidentResolve, "all of them run again")
	state("resolved")
	s.judged()
	s.same("what failed before does not open it again", value[string](s, `select state from fenceline.incidents where id = 1`), "resolved")
	tab.Live()
	failures()
	state("nobody has it")

	tab.Load(s.url + "/")
	tab.Until(`!document.getElementById('slider-range').hidden`)
	chrometest.Eval[any](tab, `(r => { r.value -= 7; r.dispatchEvent(new Event('input')); document.querySelector('#slider button').click() })(document.getElementById('slider-range'))`)
	tab.Until(`document.getElementById('past-title')?.textContent.includes('You look at the past')`)
	at, err := time.Parse("2006-01-02T15:04", chrometest.Eval[string](tab, `new URLSearchParams(location.search).get('at')`))
	if ago := time.Since(at); err != nil || ago < 7*time.Minute || ago > 12*time.Minute {
		t.Errorf("seven minutes before lead to %s (%v)", at, err)
	}
}
