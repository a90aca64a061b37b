package browser

import (
	"testing"
	"time"

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

// A page that reads itself again may be answered after the stream told more
// than the answer holds.
func TestALateAnswerDoesNotTakeBackWhatTheStreamTold(t *testing.T) {
	s := open(t)
	id := s.enqueue(store.Request{Kind: "report"})
	c := s.claim("report", time.Minute)
	tab := s.visit(jobPath(id))
	tab.Until(badge + ` === 'running'`)
	tab.Live()
	chrometest.Eval[any](tab, `(ask => {
		window.fetch = async (...what) => {
			const answer = await ask(...what);
			window.answered = true;
			await new Promise(done => { window.deliver = done });
			return answer;
		};
		dispatchEvent(new Event('lease-passed'));
	})(window.fetch)`)
	tab.Until(`window.answered`)
	s.complete(c, `{}`)
	tab.Until(badge + ` === 'completed' && document.querySelector('.lane .end.ok')`)
	// Whatever the answer takes back is seen before anything else is drawn.
	taken := chrometest.Eval[string](tab, `new Promise(done => {
		new MutationObserver(() => done(`+badge+` + ' ' + `+lastRow+` + ' ' + document.querySelectorAll('.lane .end.ok').length))
			.observe(document.getElementById('main'), {attributes: true, attributeFilter: ['data-now']});
		window.deliver();
	})`)
	s.same("the page when the answer has come", taken, "completed completed 1")
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
