package browser

import (
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

func TestClaimRenewalAndCompletionArriveOnAnOpenPage(t *testing.T) {
	s := open(t)
	id := s.enqueue(store.Request{Kind: "report", Key: "monthly/2026-11"})
	tab := s.visit(jobPath(id))
	h := s.work("report")
	tab.Until(`document.querySelector('tr[data-type=claimed]') && ` + badge + ` === 'running'`)
	tab.Until(`document.querySelector('tr[data-type=renewed]') && document.querySelector('.lane .renewal')`)
	h.returns(nil)
	tab.Until(lastRow + ` === 'completed' && ` + badge + ` === 'completed'`)
	tab.Until(`document.querySelector('.lane .end.ok')`)
	tab.Until(`document.querySelector('.story')?.textContent.includes('Attempt 1’s result was accepted at ')`)
	s.notReloaded(tab)
	arrived := rows(tab)
	tab.Load(s.url + jobPath(id))
	s.same("the rows after a reload", rows(tab), arrived)
}

func TestAnOpenListAndTheTriagePageFollowTheJobsOfAWorker(t *testing.T) {
	s := open(t)
	s.enqueue(store.Request{Kind: "other"})
	list, home := s.visit("/jobs"), s.visit("/")
	id := s.enqueue(store.Request{Kind: "report"})
	for _, tab := range []*chrometest.Tab{list, home} {
		tab.Until(`!document.getElementById('waiting').hidden`)
		tab.Click("#waiting")
		tab.Until(`document.querySelector('#rows tr').dataset.state === 'available'`)
	}
	h := s.work("report")
	row := `document.getElementById('row-` + jobPath(id)[len("/jobs/"):] + `')`
	for _, state := range []store.State{store.Running, store.Completed} {
		for _, tab := range []*chrometest.Tab{list, home} {
			tab.Until(row + `.dataset.state === '` + string(state) + `'`)
		}
		if state == store.Running {
			home.Until(`document.querySelector('#cards .big a').textContent === '1'`)
			h.returns(nil)
		}
	}
	s.notReloaded(list)
	s.notReloaded(home)
}
