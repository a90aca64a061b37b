package views

import (
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// trendLine is one small chart of the triage page: a number for each minute.
type trendLine struct {
	Name  string // as it stands above the chart
	Tone  Tone
	Of    func(store.Tick) int64
	Query string // the jobs of a minute, with its name in place of %s; empty where no search finds them
	Jobs  string // what those jobs are
}

var trendLines = []trendLine{
	{"Claims", ToneRun, func(t store.Tick) int64 { return t.Claimed }, "", ""},
	{"Completions", ToneOK, func(t store.Tick) int64 { return t.Completed }, "state:completed finished:%s" + butDrill, "completed"},
	{"Failures", ToneBad, func(t store.Tick) int64 { return t.Failed }, "", ""},
	{"Expiries", ToneRetry, func(t store.Tick) int64 { return t.Expired }, "lost:%s" + butDrill, "lost a lease"},
	{"Refusals", ToneStale, func(t store.Tick) int64 { return t.Refused }, "late:%s" + butDrill, "refused"},
}

const (
	trendWidth  = 244.0
	trendHeight = 44.0
)

func (l trendLine) total(t store.Trend) (n int64) {
	for _, tick := range t.Ticks {
		n += l.Of(tick)
	}
	return n
}

// most is the largest minute.
func (l trendLine) most(t store.Trend) (n int64, at time.Time) {
	for _, tick := range t.Ticks {
		if l.Of(tick) > n {
			n, at = l.Of(tick), tick.At
		}
	}
	return n, at
}

// bars draws each minute that is not empty as one bar, two pixels high at least.
func (l trendLine) bars(t store.Trend) string {
	most, _ := l.most(t)
	if most == 0 {
		return ""
	}
	step := trendWidth / float64(len(t.Ticks))
	var b strings.Builder
	for i, tick := range t.Ticks {
		if n := l.Of(tick); n > 0 {
			high := max(2, trendHeight*float64(n)/float64(most))
			fmt.Fprintf(&b, "M%.1f %.1fh%.1fV%.1fh-%.1fz", float64(i)*step+.5, trendHeight, step-1, trendHeight-high, step-1)
		}
	}
	return b.String()
}

// said is the chart in words.
func (l trendLine) said(t store.Trend) string {
	most, at := l.most(t)
	if most == 0 {
		return l.Name + ": none within the hour"
	}
	return fmt.Sprintf("%s by the minute: %s within the hour, most at %s UTC: %s", l.Name, Grouped(l.total(t)), at.Format("15:04"), Grouped(most))
}

// saidOf is a chart of any stretch of time in words.
func (l trendLine) saidOf(t store.Trend) string {
	most, at := l.most(t)
	if most == 0 {
		return l.Name + ": none, " + stretchText(t)
	}
	return fmt.Sprintf("%s: %s, %s, most from %s on: %s", l.Name, Grouped(l.total(t)), stretchText(t), minuteOf(at), Grouped(most))
}

// stretchText says from when on a chart tells and in which steps.
func stretchText(t store.Trend) string {
	if len(t.Ticks) == 0 {
		return "of no time"
	}
	every := "by the minute"
	if t.Step > time.Minute {
		every = "in steps of " + Span(t.Step)
	}
	first, last := t.Ticks[0].At, t.Ticks[len(t.Ticks)-1].At
	return every + " from " + minuteOf(first) + " to " + minuteOf(last.Add(max(t.Step, time.Minute))) + " UTC"
}

func minuteOf(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") }

// svg is the chart as a file of its own, which needs no page around it: its
// colours are in it, and its words are its title.
func (l trendLine) svg(t store.Trend) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 244 46" width="488" height="92" role="img"><title>%s</title><path d="M0 45.5H244" fill="none" stroke="#868f9c"/><path d="%s" fill="%s"/></svg>`,
		l.saidOf(t), l.bars(t), chartInks[l.Tone])
}

// chartInks are the colours of charts outside of pages: those that can be read on
// white and on black.
var chartInks = map[Tone]string{ToneRun: "#3f7be0", ToneOK: "#23915c", ToneBad: "#d9483f", ToneRetry: "#b87515", ToneStale: "#c9359c"}

// change compares the window with the one before it.
func (l trendLine) change(t store.Trend) string {
	steps := int(store.HomeWindow / time.Minute)
	if len(t.Ticks) < 2*steps {
		return ""
	}
	var now, before int64
	for i, tick := range t.Ticks {
		switch back := len(t.Ticks) - i; {
		case back <= steps:
			now += l.Of(tick)
		case back <= 2*steps:
			before += l.Of(tick)
		}
	}
	word := "unchanged from"
	if now > before {
		word = "up from"
	} else if now < before {
		word = "down from"
	}
	return word + " " + Grouped(before) + " in the 15 minutes before"
}

// jobsOf is the address of the jobs in which one minute's number happened, each
// once and as they are now: there may be fewer of them.
func (l trendLine) jobsOf(u URLs, tick store.Tick) string {
	if l.Query == "" || l.Of(tick) == 0 {
		return ""
	}
	return l.minute(u, tick.At, "")
}

// minute is the address of the jobs of a minute, of those that within selects too.
func (l trendLine) minute(u URLs, at time.Time, within string) string {
	return u.Search(fmt.Sprintf(l.Query, at.UTC().Format("2006-01-02T15:04Z")) + within)
}

// Search returns the address of the jobs that a search finds. It is for searches
// that this program writes; one that cannot be read leads to the whole list.
func (u URLs) Search(text string) string {
	q, err := search.Parse(text)
	if err != nil {
		return u.At(RouteJobs)
	}
	return u.Jobs(store.Filter{Query: q})
}

// countsNote says what numbers of the log count.
const countsNote = "Told from the log by the minute: a job is in a number as often as it happened to it, and also when it is gone. No list holds those jobs by the time of a claim or a failure."

// trendNote tells what the charts are told from, where that is not all of it.
func trendNote(t store.Trend) string {
	switch {
	case t.Cut:
		return "more happened than is counted yet; the newest minutes are too low"
	case t.Provisional > 0:
		return Grouped(t.Provisional) + " provisional"
	}
	return ""
}

// windowQuery narrows a search to the window of the page.
const windowQuery = ":>-15m"

// startsText is how long the window's claims came after their jobs were due.
func startsText(q store.HomeQueue) string {
	if q.Starts == 0 {
		return "–"
	}
	return Span(q.StartMean)
}

// recentWindow is the time that home's figures reach back from now.
func recentWindow(now time.Time) (since, until time.Time) { return now.Add(-store.HomeWindow), now }

// lostText counts the workers that went silent within a day.
func lostText(lost []store.Worker) string {
	if len(lost) > 10 {
		return "More than 10 workers went silent within a day, the last ones:"
	}
	return Plural(int64(len(lost)), "worker") + " went silent without a word within a day:"
}
