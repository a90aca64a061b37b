package views

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views/chrometest"
)

const jobPath = "/ops/jobs/70412"

// showJob opens a job's page and waits until it is live.
func (s *stage) showJob(p *play) {
	s.t.Helper()
	s.set(jobPath, jobSample(p))
	s.Load(s.url + jobPath)
	s.Live()
}

// change sends what the stream sends when the job changed.
func (s *stage) change(p *play, position string) {
	s.t.Helper()
	f := frame(TopicJob(p.job.ID))
	f.Now = p.now
	s.patch(position, JobParts(JobPage{Frame: f, View: p.view()})...)
}

func TestATransitionAppearsOnAnOpenPage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	s.showJob(p)
	p.at(50 * time.Second).complete()
	s.change(p, "5200")
	s.Until(`document.querySelector('#transitions-rows tr:last-child').dataset.type === 'completed'`)
	s.Until(`document.querySelector('.job-head .badge').textContent.includes('completed')`)
	if chrometest.Eval[int](s.Tab, `document.querySelectorAll('.diamond').length`) != 1 {
		t.Error("the refusal is not on the timeline any more")
	}
}

func TestALiveChangeTakesNothingAwayFromTheReader(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := manyAttempts(9)
	s.showJob(p)
	chrometest.Eval[any](s.Tab, `(() => {
		document.querySelector('.error details').open = true;
		document.querySelector('#attempts-table').open = true;
		const select = getSelection();
		select.selectAllChildren(document.querySelector('.error p'));
		document.querySelector('#transitions-rows').closest('.scroll').focus();
		document.querySelector('#t-1010').scrollIntoView();
		return 1;
	})()`)
	place := func() float64 {
		return chrometest.Eval[float64](s.Tab, `document.querySelector('#t-1010').getBoundingClientRect().top`)
	}
	before := place()
	p.requeue("again").claim("w")
	s.change(p, "5201")
	s.Until(`document.querySelector('#transitions-rows tr:last-child').dataset.type === 'claimed'`)
	if after := place(); math.Abs(after-before) > 2 {
		t.Errorf("the row that was read moved from %.0f to %.0f", before, after)
	}
	for _, kept := range []string{`String(getSelection()).startsWith('dial tcp')`, `document.querySelector('.error details').open`, `document.querySelector('#attempts-table').open`,
		`document.activeElement.matches('.scroll')`} {
		if !chrometest.Eval[bool](s.Tab, kept) {
			t.Errorf("no longer so: %s", kept)
		}
	}
}

func TestAnOpenFormStaysBoundToWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	s.showJob(p)
	seen := decimal(p.job.Revision)
	s.Click("#act-terminate summary")
	s.Until(`document.querySelector('#act-terminate dialog').matches(':modal')`)
	s.Type("#reason-terminate", "half a rea")
	p.at(50 * time.Second).complete()
	s.change(p, "5202")
	s.Until(`document.querySelector('.job-head .badge').textContent.includes('completed')`)
	s.Until(`!document.querySelector('#act-terminate .behind').hidden`)
	if got := chrometest.Eval[string](s.Tab, `document.querySelector('#act-terminate [name=seen]').value`); got != seen {
		t.Errorf("the form is bound to revision %s, what was seen is %s", got, seen)
	}
	s.Type("#reason-terminate", "son")
	if got := chrometest.Eval[string](s.Tab, `document.activeElement.value`); got != "half a reason" {
		t.Errorf("what was typed is %q", got)
	}
	s.Click("#act-terminate [data-close]")
	s.Until(`document.querySelector('#act-terminate button:disabled') && document.querySelector('#why-terminate').textContent.includes('already ended')`)
}

func TestAFormIsSentWithTheRevisionAndTheReason(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	s.showJob(p)
	s.Press("r")
	s.Until(`document.querySelector('#act-requeue dialog').matches(':modal')`)
	s.Type("#reason-requeue", "again")
	s.Click("#act-requeue .solid")
	chrometest.Wait(t, "the form arrives", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.posts) == 1 && s.posts[0] == jobPath+"/requeue?seen="+decimal(p.job.Revision)+"&reason=again"
	})
}

func jobsPage(jobs []store.Job, f store.Filter) JobsPage {
	return JobsPage{Frame: frame(TopicJobs), List: List{Filter: f}, Page: store.Page{Jobs: jobs, Order: store.OrderNewest}}
}

func TestNewRowsWaitAndKnownOnesChangeInTheirPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := sampleJobs(6)
	s.set("/ops/jobs", Jobs(jobsPage(jobs, store.Filter{})))
	s.Load(s.url + "/ops/jobs")
	s.Live()
	fresh := jobs[1]
	fresh.ID = 90001
	changed := jobs[5]
	changed.State = store.Discarded
	s.patch("6000", JobRow(URLs{Base: "/ops"}, fresh, sampleNow), JobRow(URLs{Base: "/ops"}, changed, sampleNow))
	s.Until(`document.querySelector('#row-89995').dataset.state === 'discarded'`)
	s.Until(`document.querySelector('#waiting').textContent === '1 new' && !document.querySelector('#waiting').hidden`)
	if chrometest.Eval[bool](s.Tab, `document.querySelector('#row-90001') !== null`) {
		t.Error("a new row moved the others before the reader asked for it")
	}
	fresh.State = store.Completed
	s.patch("6001", JobRow(URLs{Base: "/ops"}, fresh, sampleNow))
	s.Press("n")
	s.Until(`document.querySelector('#rows tr').id === 'row-90001' && document.querySelector('#waiting').hidden`)
	s.Until(`document.activeElement.closest('tr').id === 'row-90001'`)
}

func TestAFilteredListTakesOnlyWhatMatches(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := sampleJobs(6)
	s.set("/ops/jobs", Jobs(jobsPage(jobs[:1], store.Filter{Kind: "report"})))
	s.Load(s.url + "/ops/jobs")
	s.Live()
	other, same := jobs[1], jobs[3]
	other.ID, same.ID = 90001, 90002
	aimed := func(j store.Job, list string) string {
		return strings.Replace(render(t, JobRow(URLs{Base: "/ops"}, j, sampleNow)), `data-into="#rows"`, `data-into="#rows[data-want=&#34;`+list+`&#34;]"`, 1)
	}
	s.send("patch", "6000", aimed(other, "q=kind%3Amail")+aimed(same, "q=kind%3Areport"))
	s.Until(`document.querySelector('#waiting').textContent === '1 new'`)
	s.Click("#waiting")
	s.Until(`document.querySelector('#rows tr').id === 'row-90002' && !document.querySelector('#row-90001')`)
}

func TestAnEmptyListShowsItsFirstRowAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("/ops/jobs", Jobs(jobsPage(nil, store.Filter{})))
	s.Load(s.url + "/ops/jobs")
	s.Live()
	s.Until(`document.querySelector('.empty').checkVisibility()`)
	s.patch("6000", JobRow(URLs{Base: "/ops"}, sampleJobs(1)[0], sampleNow))
	s.Until(`document.querySelector('#row-90000')?.checkVisibility() && !document.querySelector('.empty').checkVisibility()`)
}

func TestAnEmptyTriagePageComesToLifeWithTheFirstJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("/ops/", samplePages()["home-empty"])
	s.Load(s.url + "/ops/")
	s.Live()
	s.patch("6000", HomeParts(HomePage{frame(TopicHome), sampleHome()})...)
	s.Until(`!document.querySelector('#teaching').checkVisibility() && document.querySelectorAll('#rows tr').length === 12`)
	home := sampleHome()
	home.Newest = append([]store.Job{home.Newest[1]}, home.Newest...)
	home.Newest[0].ID = 90001
	s.patch("6001", HomeParts(HomePage{frame(TopicHome), home})...)
	s.Until(`document.querySelector('#waiting').textContent === '1 new'`)
}

func TestTimesAreTheReadersZoneAndTheDatabasesClock(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Zone("Pacific/Chatham", -7*time.Minute)
	p := twoWorkers()
	s.showJob(p)
	left := chrometest.Eval[string](s.Tab, `document.querySelector('#job-70412-facts [data-show=until]').textContent`)
	if left > "00:20" || left < "00:05" {
		t.Errorf("the lease has %q left, want 00:20 and less by what the page took", left)
	}
	if got := chrometest.Eval[string](s.Tab, `document.querySelector('#transitions-rows time').textContent`); got != "03:46:58.911" {
		t.Errorf("14:46:58.911 − 45 min in Chatham is shown as %q", got)
	}
	if got := chrometest.Eval[string](s.Tab, `document.querySelector('#transitions-rows time').title`); got != "2026-11-03 14:01:58.911 UTC" {
		t.Errorf("the absolute time at hand is %q", got)
	}
	if ago := chrometest.Eval[string](s.Tab, `document.querySelector('#job-70412-facts [data-show=ago]').textContent`); !strings.HasSuffix(ago, " s ago") || strings.Contains(ago, "m") {
		t.Errorf("a job enqueued 47 s ago is shown as %q", ago)
	}
	p.at(48 * time.Second).renew()
	s.change(p, "5203")
	s.send("beat", "", beatAt(p.now.Add(10*time.Second), "5203"))
	s.Until(`document.querySelector('#transitions-rows tr:last-child time').textContent === '03:47:46.911'`)
	s.Until(`/^00:1[0-5]$/.test(document.querySelector('#job-70412-facts [data-show=until]').textContent)`)
}

func TestTheTwoHalfPastTwosOfAClockChangeCanBeToldApart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Zone("Europe/Berlin", 0)
	p := newPlay()
	p.start = time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	p.at(0).claim("w").at(30 * time.Minute)
	p.lease = 2 * time.Hour
	p.renew().at(time.Hour).renew().at(61 * time.Minute)
	s.showJob(p)
	got := chrometest.Eval[string](s.Tab, `[...document.querySelectorAll('#transitions-rows .c-time time')].map(t => t.textContent).join(' | ')`)
	if !strings.Contains(got, "02:30:00.000 +02:00") || !strings.Contains(got, "02:30:00.000 +01:00") {
		t.Errorf("the times of that night are %s", got)
	}
}

func TestAStreamThatBreaksIsSaidSoAndResumesWhereItWas(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	s.showJob(p)
	s.change(p, "5300")
	s.send("beat", "5300", beatAt(p.now, "5300"))
	chrometest.Wait(t, "the position arrives", func() bool { open, _ := s.streams(); return open == 1 })
	s.cut()
	chrometest.Wait(t, "the stream is asked for again from its position", func() bool {
		_, asked := s.streams()
		last := asked[len(asked)-1]
		return len(asked) > 1 && (last.Header.Get("Last-Event-ID") == "5300" || last.URL.Query().Get(ParamAfter) == "5300")
	})
	s.Live()
}

func TestAPageThatMayHaveMissedSomethingReadsItselfAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	s.showJob(p)
	p.at(50 * time.Second).complete()
	s.set(jobPath, jobSample(p))
	s.send("resync", "", "{}")
	s.Until(`document.querySelector('#transitions-rows tr:last-child').dataset.type === 'completed'`)
}

func TestZoomedLanesReadThePageAgainInsteadOfTakingThePatch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	zoomed := func() JobPage {
		f := frame(TopicJob(p.job.ID))
		f.Now = p.now
		return JobPage{Frame: f, View: p.view(), Zoom: 42}
	}
	s.set(jobPath, Job(zoomed()))
	s.Load(s.url + jobPath)
	s.Live()
	p.at(50 * time.Second).complete()
	s.set(jobPath, Job(zoomed()))
	s.change(p, "5400")
	s.Until(`document.querySelector('#job-70412-lanes-own .end.ok')`)
	if chrometest.Eval[bool](s.Tab, `document.querySelector('#job-70412-lanes') !== null`) {
		t.Error("the whole timeline was put beside the zoomed one")
	}
}

func TestTabsShareOneStream(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := twoWorkers()
	s.set(jobPath, jobSample(p))
	s.set("/ops/jobs", Jobs(jobsPage(sampleJobs(5), store.Filter{})))
	tabs := []*chrometest.Tab{s.Tab}
	for range 3 {
		tabs = append(tabs, s.Another())
	}
	for i, tab := range tabs {
		tab.Load(s.url + []string{jobPath, "/ops/jobs"}[i%2])
	}
	for _, tab := range tabs {
		tab.Live()
	}
	chrometest.Wait(t, "one stream is open", func() bool { open, _ := s.streams(); return open == 1 })
	_, asked := s.streams()
	if topics := asked[len(asked)-1].URL.Query()[ParamTopic]; len(topics) != 2 {
		t.Errorf("the stream follows %v, want both topics", topics)
	}
	p.at(50 * time.Second).complete()
	s.change(p, "5500")
	for i, tab := range tabs {
		if i%2 == 0 {
			tab.Until(`document.querySelector('.job-head .badge').textContent.includes('completed')`)
		}
	}
}

func TestKeysDoWhatTheHelpSays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("/ops/jobs", Jobs(jobsPage(sampleJobs(5), store.Filter{})))
	s.set("/ops/", Home(HomePage{frame(TopicHome), sampleHome()}))
	s.Load(s.url + "/ops/jobs")
	s.Press("jjjk")
	s.Until(`document.activeElement.closest('tr')?.id === 'row-89999'`)
	s.Press("/")
	s.Until(`document.activeElement.id === 'line'`)
	s.Press("j?")
	if got := chrometest.Eval[string](s.Tab, `document.activeElement.value`); got != "j?" {
		t.Errorf("keys act while something is typed: the field holds %q", got)
	}
	s.Press(kb.Escape + "?")
	s.Until(`document.getElementById('help').open`)
	chrometest.Eval[any](s.Tab, `document.getElementById('keys-on').click()`)
	s.Press(kb.Escape)
	s.Until(`!document.getElementById('help').open`)
	s.Press("/")
	if chrometest.Eval[bool](s.Tab, `document.activeElement.matches('#line, #search')`) {
		t.Error("single keys act although they were turned off")
	}
	chrometest.Eval[any](s.Tab, `document.getElementById('keys-on').click()`)
	s.Press("gh")
	s.Until(`location.pathname === '/ops/' && document.readyState === 'complete'`)
	s.Press("/")
	s.Until(`document.activeElement.id === 'search'`)
}

func TestNoSamplePageBreaksThePolicyOrTheLayout(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, page := range samplePages() {
		s.set("/ops/"+name, page)
		s.Load(s.url + "/ops/" + name)
		for _, width := range []int64{360, 1360} {
			s.Size(width, 860)
			if over := chrometest.Eval[int](s.Tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s is %d px too wide for %d px: %s", name, over, width, chrometest.Eval[string](s.Tab, `[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth && !e.closest('.scroll')).slice(0, 5).map(e => e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 40)).join('; ')`))
			}
		}
	}
}

func TestALeaseThatPassesOnAnOpenPageChangesItsStory(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := newPlay().at(time.Second).claim("w").at(30 * time.Second)
	s.showJob(p)
	p.at(32500 * time.Millisecond)
	s.set(jobPath, jobSample(p))
	s.Until(`document.querySelector('.story').textContent.includes('nobody has taken the job back yet')`)
	s.Until(`document.querySelector('.hatch')`)
}
