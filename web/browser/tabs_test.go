package browser

import (
	"testing"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// Case B19: a browser opens six connections to a host and no more.
func TestMoreTabsLoadThanABrowserHasConnectionsAndTheLastCanAct(t *testing.T) {
	const last = 7
	s := open(t)
	first := chrometest.Open(t)
	tab := first
	var tabs []*chrometest.Tab
	var ids []int64
	for i := range last + 1 {
		if i > 0 {
			tab = first.Another()
		}
		id := s.spent(store.Request{Kind: "report"})
		tab.Load(s.url + jobPath(id))
		tab.Live()
		tabs, ids = append(tabs, tab), append(ids, id)
	}
	s.same("the protocol", chrometest.Eval[string](tab, `performance.getEntriesByType('navigation')[0].nextHopProtocol`), "http/1.1")
	ask(tab, store.ActionRequeue, "from the last tab")
	send(tab, store.ActionRequeue)
	tab.Until(`document.getElementById('flash')?.textContent.startsWith('Requeued.')`)
	s.same("the state", s.job(ids[last]).State, store.Available)
	for i, tab := range tabs[:last] {
		s.requeue(ids[i], "seen everywhere")
		tab.Until(badge + ` === 'available'`)
	}
}
