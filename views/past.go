package views

import (
	"net/url"
	"time"

	"github.com/fenceline/fenceline/store"
)

// ParamAt is the minute that the triage page shows instead of the present; in
// UTC, see [store.ParseMinute].
const ParamAt = "at"

// PastPage is the triage page of a minute that is over.
type PastPage struct {
	Frame
	View store.Past
}

// Past returns the address of the triage page of a minute.
func (u URLs) Past(at time.Time) string {
	return withQuery(u.Home(), url.Values{ParamAt: {minuteText(at)}})
}

func minuteText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04") }

// sliderDay is the range that the slider moves over: the day up to now, or
// around a minute that is older.
const sliderDay = 24 * time.Hour

// sliderFrom is the first minute of the slider.
func sliderFrom(at, now time.Time) time.Time {
	from := now.Truncate(time.Minute).Add(-sliderDay)
	if at.Before(from) {
		from = at.Add(-sliderDay / 2)
	}
	return from
}

// step is a link to another minute.
type step struct {
	Text string
	By   time.Duration
}

var steps = []step{{"−1 hour", -time.Hour}, {"−10 minutes", -10 * time.Minute}, {"−1 minute", -time.Minute}, {"+1 minute", time.Minute}, {"+10 minutes", 10 * time.Minute}, {"+1 hour", time.Hour}}

// pastList is a number of jobs that a search finds by what happened to them in the
// minute.
type pastList struct {
	Name string
	Line trendLine
	N    store.Count
}

func pastLists(p store.Past) []pastList {
	return []pastList{{"Completed", trendLines[1], p.Jobs.Completed}, {"Lost a lease", trendLines[3], p.Jobs.Expired}, {"Had a late write refused", trendLines[4], p.Jobs.Refused}}
}

// pastVerdict says in a sentence what the minute was like.
func pastVerdict(p store.Past) string {
	var t store.Tick
	var waiting, running int64
	for _, q := range p.Queues {
		waiting, running = waiting+q.Waiting.N, running+q.Running
		t.Claimed, t.Completed, t.Failed = t.Claimed+q.Claimed, t.Completed+q.Completed, t.Failed+q.Failed
		t.Expired, t.Refused = t.Expired+q.Expired, t.Refused+q.Refused
	}
	if p.Gone() && p.Sampled.IsZero() {
		if p.Kept.IsZero() {
			return "Nothing is known of this minute: no counts are kept."
		}
		return "Nothing is known of this minute: it lies before all counts, the oldest of which is of " + fullTime(p.Kept) + ". What was before is removed, or nothing had happened."
	}
	stood := "What stood in the queues was not written down in this minute. "
	if !p.Sampled.IsZero() {
		stood = Grouped(waiting) + " waited and " + Grouped(running) + " ran. "
	}
	return stood + "Within the minute " + Plural(t.Claimed, "claim") + ", " + Plural(t.Completed, "completion") + ", " + Plural(t.Failed, "failure") + ", " +
		Grouped(t.Expired) + plain(t.Expired, " expiry", " expiries") + " and " + Plural(t.Refused, "refused write") + "."
}
