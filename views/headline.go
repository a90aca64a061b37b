package views

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// Answer is what the triage page says first: which of the three it is, and the
// rest in a sentence.
type Answer struct {
	Title  string
	Tone   Tone
	Detail []Phrase
}

// NewAnswer answers the console's question from its numbers. What needs a
// person comes first: a result changed by a stale attempt, then work without
// an owner, then refused writes, then work that runs or waits as it should.
func NewAnswer(h store.Home) Answer {
	var t tale
	a := Answer{Title: "Nothing to wait for", Tone: ToneWait}
	switch {
	case h.Verified.Open > 0:
		a.Title, a.Tone = "A stale attempt changed a result", ToneBad
		t.say(Plural(h.Verified.Open, "write"), " of an attempt without authority ", plain(h.Verified.Open, "was", "were"), " accepted. This must not happen: run ", "fenceline verify", ". ")
	case h.Lapsed.N > 0 || h.Waiting > 0:
		a.Title, a.Tone = "Recovering abandoned work", ToneRetry
	case h.TotalRefused() > 0:
		a.Title, a.Tone = "Stale attempts were refused", ToneStale
	case h.Running.N > 0:
		a.Title, a.Tone = "Waiting for legitimate work", ToneRun
	case h.States[store.Available].N > 0:
		a.Title, a.Tone = "Work waits and nobody takes it", ToneRetry
	}
	t.recovery(h)
	t.stale(h)
	t.legitimate(h)
	a.Detail = t.phrases
	return a
}

func (s *tale) recovery(h store.Home) {
	if n := h.Lapsed.N; n > 0 {
		s.say(leading(CountText(h.Lapsed), searchLapsed), " running ", plain(n, "job has", "jobs have"), " a lease that passed and wait for the sweep. ")
	}
	if h.Expired.N == 0 {
		return
	}
	s.say("Of ", CountText(h.Expired), plain(h.Expired.N, " lease that expired, ", " leases that expired, "),
		leading(Grouped(h.Reclaimed), searchReclaimed), plain(h.Reclaimed, " job is", " jobs are"), " claimed again and ", leading(Grouped(h.Waiting), searchWaiting), plain(h.Waiting, " waits", " wait"))
	if h.Lost > 0 {
		s.say("; ", leading(Grouped(h.Lost), searchEnded), " ended without another try")
	}
	s.say(". ")
}

func (s *tale) stale(h store.Home) {
	refused := h.TotalRefused()
	switch {
	case h.Verified.Open > 0:
	case refused > 0:
		s.say(Plural(refused, "late write"), plain(refused, " was", " were"), " refused")
		if h.Verified.N > 0 {
			s.say("; no result was changed by a stale attempt")
		}
		s.say(". ")
	case h.Expired.N > 0 && h.Verified.N > 0:
		s.say("No result was changed by a stale attempt. ")
	}
}

func (s *tale) legitimate(h store.Home) {
	waiting := h.States[store.Available]
	switch {
	case h.Running.N > 0:
		s.say(leading(CountText(h.Running), searchRunning), plain(h.Running.N, " job runs", " jobs run"), " under live leases, ", leading(CountText(waiting), searchAvailable), " wait to be claimed.")
	case waiting.N > 0:
		s.say(leading(CountText(waiting), searchAvailable), plain(waiting.N, " job waits", " jobs wait"), " to be claimed and none is running: is a worker up for its kind and queue?")
	default:
		s.say("No job runs and none waits to be claimed.")
	}
}

// The searches that find the jobs of home's numbers, and no others. What is told of
// a window leaves the drill out.
const (
	searchAvailable = "state:available"
	searchRunning   = "lease:live" + butDrill
	searchLapsed    = "lease:lapsed" + butDrill
	searchExpired   = "lost" + windowQuery + butDrill
	searchReclaimed = "lost" + windowQuery + " -lease:lost" + butDrill
	searchWaiting   = "lost" + windowQuery + " state:available,retryable,scheduled lease:lost" + butDrill
	searchEnded     = "lost" + windowQuery + " state:completed,discarded,terminated lease:lost" + butDrill
	searchRefused   = "late" + windowQuery + butDrill

	butDrill = " -queue:" + store.DrillQueue
)

// leading is a number of jobs that leads to them.
func leading(text, search string) Phrase { return Phrase{Text: text, Search: search} }

// plain picks the word for one or for many.
func plain(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// windowText names the time the numbers of the page reach back.
func windowText() string {
	return "last " + decimal(int64(store.HomeWindow/time.Minute)) + " minutes"
}

// recoveryTold says what became of the jobs whose leases expired in the window.
func recoveryTold(h store.Home) []Phrase {
	var t tale
	if h.Expired.Capped {
		t.say("of the newest ", Grouped(h.Expired.N), " leases: ")
	}
	t.say(leading(Grouped(h.Waiting)+" waiting", searchWaiting), ", ", leading(Grouped(h.Reclaimed)+" claimed again", searchReclaimed))
	if h.Lost > 0 {
		t.say(", ", leading(Grouped(h.Lost)+" ended", searchEnded))
	}
	t.say(" · ", CountText(h.Expired), plain(h.Expired.N, " lease", " leases"), " expired")
	if h.LongestUnowned > 0 {
		t.say(", longest without an owner ", Span(h.LongestUnowned))
	}
	if h.Lapsed.N > 0 {
		t.say("; ", leading(CountText(h.Lapsed)+" more passed", searchLapsed), " and not swept yet")
	}
	return t.phrases
}

// refusedTold counts the jobs of the window's refused writes, and the writes by
// reason, for a line that goes on.
func refusedTold(h store.Home) []Phrase {
	if h.TotalRefused() == 0 {
		return nil
	}
	return []Phrase{{Text: "of "}, leading(CountText(h.RefusedJobs)+plain(h.RefusedJobs.N, " job", " jobs"), searchRefused), {Text: ": " + refusedText(h)}}
}

// refusedText counts the window's refusals by reason, for a line that goes on.
func refusedText(h store.Home) string {
	text := ""
	for _, r := range refusedReasons(h) {
		if text != "" {
			text += ", "
		}
		text += Grouped(r.N) + " " + string(r.Reason)
	}
	if text != "" {
		text += " · "
	}
	return text
}

// refusedReasons lists the window's refusals by reason, in the protocol's order.
func refusedReasons(h store.Home) []reasonCount {
	var out []reasonCount
	for _, r := range []store.Reason{store.ReasonSuperseded, store.ReasonLeaseExpired, store.ReasonAlreadyEnded, store.ReasonTerminated, store.ReasonUnknownJob} {
		if n := h.Refused[r]; n > 0 {
			out = append(out, reasonCount{r, n})
		}
	}
	return out
}

type reasonCount struct {
	Reason store.Reason
	N      int64
}
