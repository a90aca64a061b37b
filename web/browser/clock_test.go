package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

// Case B40.
func TestACountdownIsRightWhateverTheBrowsersClockSays(t *testing.T) {
	s := open(t)
	id := s.enqueue(store.Request{Kind: "report"})
	tab := chrometest.Open(t)
	tab.Zone("Pacific/Chatham", -7*time.Minute)
	tab.Load(s.url + jobPath(id))
	tab.Live()
	mark(tab)
	lease := s.claim("report", 20*time.Second)
	const left = `document.querySelector('.facts [data-show=until]')`
	tab.Until(left)
	// Read on the page, compared with what is left by the database's clock before
	// and after the reading.
	most := value[float64](s, `select extract(epoch from lease_until - clock_timestamp()) from fenceline.jobs where id = $1`, id)
	shown := chrometest.Eval[float64](tab, left+`.textContent.split(':').reduce((m, s) => 60 * m + +s, 0)`)
	least := value[float64](s, `select extract(epoch from lease_until - clock_timestamp()) from fenceline.jobs where id = $1`, id)
	if shown > most+1 || shown < least-2 {
		t.Errorf("%.0f s are shown, between %.1f and %.1f s were left", shown, least, most)
	}
	if ago := tab.Text(".facts [data-show=ago]"); ago != "just now" && (!strings.HasSuffix(ago, " s ago") || strings.Contains(ago, "m")) {
		t.Errorf("a job that was just enqueued is shown as %q", ago)
	}
	s.complete(lease, `{}`)
	tab.Until(badge + ` === 'completed'`)
	const times = `[...document.querySelectorAll('#transitions-rows .c-time time')].map(t => t.textContent + ' ' + t.title).join('\n')`
	live := chrometest.Eval[string](tab, times)
	s.same("the recorded times, in the reader's zone and in UTC", live, value[string](s, `select string_agg(
		to_char(at at time zone 'Pacific/Chatham', 'HH24:MI:SS.MS') || ' ' || to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') || ' UTC', E'\n' order by id)
		from (select id, date_trunc('milliseconds', at) as at from fenceline.transitions where job_id = $1) t`, id))
	s.notReloaded(tab)
	tab.Load(s.url + jobPath(id))
	tab.Live()
	s.same("the times after a reload", chrometest.Eval[string](tab, times), live)
}
