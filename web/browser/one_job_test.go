package browser

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// A job fails for its arguments; they are corrected, it runs with them, is changed
// and noted while it waits again, gets those of before, and is erased.
func TestAJobIsCorrectedRunsWithWhatItWasGivenAndIsErased(t *testing.T) {
	s := open(t)
	id := s.spent(store.Request{Kind: "report", Args: json.RawMessage(`{"month": 13, "n": 90071992547409931234}`)})
	tab := s.visit(jobPath(id))
	tab.Click("#payload-title button[formaction]")
	tab.Until(`document.getElementById('args-correct')?.value.includes('90071992547409931234')`)
	chrometest.Eval[any](tab, `(a => { a.value = a.value.replace('13', '12') })(document.getElementById('args-correct'))`)
	tab.Type("#reason-correct", "month 13 was meant to be 12")
	tab.Click("#correct button[formaction$=requeue]")
	tab.Until(`document.getElementById('flash')?.textContent.startsWith('Requeued.')`)
	tab.Until(`document.querySelector('.story')?.textContent.includes('put it back with other arguments')`)
	tab.Until(`document.querySelector('.versions')?.textContent.includes('month 13 was meant to be 12')`)
	got, err := s.store.Claim(s.ctx, store.ClaimParams{Worker: "w", Queue: store.DefaultQueue, Kinds: []store.KindLease{{Kind: "report", Lease: time.Hour}}, AttemptIDs: []uuid.UUID{uuid.New()}})
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	s.same("what the attempt was given", string(got[0].Args), `{"n": 90071992547409931234, "month": 12}`)
	s.complete(got[0].Lease, `{"rows": 1}`)
	tab.Until(badge + ` === 'completed'`)

	for _, act := range []store.Action{store.ActionAmend, store.ActionNote} {
		tab.Load(s.url + jobPath(id))
		ask(tab, act, "looked at again")
		if act == store.ActionAmend {
			s.same("what cannot change", tab.Holds(`document.querySelector('#act-amend [name=run_at]').disabled`), true)
			tab.Type("#act-amend [name=priority]", "-7")
		}
		send(tab, act)
		tab.Until(`document.getElementById('flash')`)
	}
	tab.Until(`[...document.querySelectorAll('.transitions tr[data-type=amended]')].some(r => /priority\s+0\s+→\s+-7/.test(r.textContent))`)
	s.same("the priority", s.job(id).Priority, -7)

	tab.Load(s.url + jobPath(id))
	tab.Click("#act-restore summary")
	tab.Until(`document.querySelector('#act-restore dialog').matches(':modal')`)
	tab.Type("#reason-restore", "they were right")
	tab.Click("#act-restore .solid")
	tab.Until(badge + ` === 'available'`)
	s.same("the version", s.job(id).ArgsVersion, 3)
	s.same("the args", strings.Contains(value[string](s, `select args::text from fenceline.jobs where id = $1`, id), "13"), true)

	tab.Load(s.url + jobPath(id))
	ask(tab, store.ActionDuplicate, "for the other branch")
	send(tab, store.ActionDuplicate)
	tab.Until(`document.getElementById('flash')?.textContent.startsWith('Duplicated.')`)
	tab.Until(`document.querySelector('.transitions').textContent.includes('duplicate of job')`)

	tab.Load(s.url + jobPath(id))
	ask(tab, store.ActionTerminate, "done with")
	send(tab, store.ActionTerminate)
	tab.Until(badge + ` === 'terminated'`)
	tab.Load(s.url + jobPath(id))
	ask(tab, store.ActionErase, "asked for")
	send(tab, store.ActionErase)
	tab.Until(`document.getElementById('flash')?.textContent.startsWith('Erased.')`)
	s.same("kept versions", value[int](s, `select count(*) from fenceline.args_versions`), 0)
}
