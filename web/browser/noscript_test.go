package browser

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

func TestRequeueAndTerminateWorkWithoutScript(t *testing.T) {
	s := open(t)
	id := s.spent(store.Request{Kind: "report", Key: "monthly/2026-11"})
	tab := chrometest.Open(t)
	tab.NoScript()
	act := func(action store.Action, reason string) {
		t.Helper()
		tab.Click("#act-" + string(action) + " summary")
		tab.Type("#reason-"+string(action), reason)
		send(tab, action)
		tab.Until(`document.getElementById('flash')`)
	}
	tab.Load(s.url + "/jobs?key=monthly%2F2026-11")
	tab.Click("#rows a")
	tab.Until(`location.pathname === '` + jobPath(id) + `' && document.readyState === 'complete'`)
	s.same("what the page says of being live", tab.Text("#live"), "not live")
	act(store.ActionRequeue, "by hand")
	s.same("the state", s.job(id).State, store.Available)
	s.same("the badge", chrometest.Eval[string](tab, badge), "available")

	lease := s.claim("report", time.Minute)
	tab.Load(s.url + jobPath(id))
	s.renew(lease, time.Minute) // which is no change of the job
	act(store.ActionTerminate, "by hand too")
	s.same("the state", s.job(id).State, store.Terminated)
	s.same("the reasons", value[string](s, `select string_agg(type || ' ' || reason, ', ' order by id) from fenceline.transitions
		where job_id = $1 and type in ('requeued', 'terminated')`, id), "requeued by hand, terminated by hand too")

	s.requeue(id, "meanwhile")
	tab.Click("#act-requeue summary")
	tab.Type("#reason-requeue", "late")
	send(tab, store.ActionRequeue)
	tab.Until(`document.querySelector('.conflict')`)
	s.same("the reason", chrometest.Eval[string](tab, `document.querySelector('blockquote, textarea').textContent`), "late")
}
