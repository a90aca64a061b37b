package views

import (
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// Ticks stay while rows change and arrive, and hold the revision that was seen
// when they were set.
func TestTickedRowsStayTickedAndAreSentAsTheyWereSeen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := sampleJobs(6)
	p := jobsPage(jobs, store.Filter{Kind: "report"})
	p.Count = store.Count{N: 6}
	s.set("/ops/jobs", Jobs(p))
	s.Load(s.url + "/ops/jobs")
	s.Live()
	s.Until(`document.querySelector('[data-ticked]').disabled`)
	s.Press("j")
	s.Press("x")
	s.Click("#row-89996 .tick")
	s.Until(`document.querySelector('#ticked').textContent === '2 ticked' && document.querySelector('#tick-all').indeterminate`)
	changed, other, fresh := jobs[0], jobs[1], jobs[1]
	changed.State, changed.Revision = store.Discarded, changed.Revision+7
	other.Revision = other.Revision + 7
	fresh.ID = 90001
	s.patch("6000", JobRow(URLs{Base: "/ops"}, fresh, sampleNow), JobRow(URLs{Base: "/ops"}, changed, sampleNow), JobRow(URLs{Base: "/ops"}, other, sampleNow))
	s.Until(`document.querySelector('#row-` + decimal(changed.ID) + `').dataset.state === 'discarded'`)
	s.Until(`document.querySelector('#row-` + decimal(other.ID) + ` .tick').value === '` + decimal(other.Revision) + `'`)
	if got := chrometest.Eval[string](s.Tab, `[...document.querySelectorAll('.tick:checked')].map(t => t.name + '=' + t.value).join(' ')`); got !=
		"t-"+decimal(jobs[0].ID)+"="+decimal(jobs[0].Revision)+" t-89996="+decimal(jobs[4].Revision) {
		t.Errorf("ticked: %s", got)
	}
	s.Press("n")
	s.Until(`document.querySelector('#rows tr').id === 'row-90001' && document.querySelectorAll('.tick:checked').length === 2`)
	s.Click("#tick-all")
	s.Until(`document.querySelector('#ticked').textContent === '7 ticked'`)
}
