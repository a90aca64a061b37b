package main

import (
	"strings"
	"testing"

	"github.com/fenceline/fenceline/views/chrometest"
)

// The first screen of an empty installation teaches: the button runs the drill,
// and its job's page shows the story as it happens.
func TestTheDrillsStoryIsWatchedLiveFromAnEmptyHome(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	s := serve(t, onDB(db))
	tab := chrometest.Open(t)
	tab.Load(s.url + "/")
	tab.Live()
	same(t, "the heading", tab.Text("#teaching h1"), "No job yet")
	tab.Click("#teaching form[action$=drill] button")
	tab.Until(`document.getElementById('flash')?.textContent.includes('two real processes')`)
	tab.Live()
	chrometest.Eval[any](tab, `window.marked = 1`)

	const lane = `document.querySelector('.lane[data-generation="1"]')`
	tab.Until(lane + `?.querySelector('.held')`)
	tab.Until(lane + `.querySelector('.hatch')`)
	tab.Until(`document.querySelector('.lane[data-generation="2"] .held')`)
	// A renewal may be refused first, in a diamond of its own.
	tab.Until(`[...` + lane + `.querySelectorAll('.diamond title')].some(t => t.textContent.includes('complete refused, superseded; generation 1 offered, 2 current'))`)
	tab.Until(`document.querySelector('.job-head .badge').textContent.includes('completed')`)
	tab.Until(`document.querySelector('.lane[data-generation="2"] .end.ok')`)
	if story := tab.Text(".story"); !strings.Contains(story, "Attempt 2’s result was accepted") ||
		!strings.Contains(story, "with a result, which was refused (superseded). Nothing of it was stored.") {
		t.Errorf("the story is %q", story)
	}
	if !tab.Holds(`window.marked`) {
		t.Error("the page was loaded anew")
	}
	same(t, "whose result is stored", query[string](t, db, `select result->>'by' from fenceline.jobs`), "B")

	tab.Load(s.url + "/")
	tab.Until(`document.querySelector('#answer').checkVisibility() && !document.querySelector('#teaching').checkVisibility()`)
	same(t, "refused writes that triage counts", tab.Text("#cards .stale ~ .big"), "0 writes refused 0 accepted")
}
