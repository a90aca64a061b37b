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

func (t *tale) recovery(h store.Home) {
	if n := h.Lapsed.N; n > 0 {
		t.say(CountText(h.Lapsed), " running ", plain(n, "job has", "jobs have"), " a lease that passed and wait for the sweep. ")
	}
	if h.Expired.N == 0 {
		return
	}
	t.say("Of ", CountText(h.Expired), plain(h.Expired.N, " lease that expired, ", " leases that expired, "),
		Grouped(h.Reclaimed), plain(h.Reclaimed, " job is", " jobs are"), " claimed again and ", Grouped(h.Waiting), plain(h.Waiting, " waits", " wait"))
	if h.Lost > 0 {
		t.say("; ", Grouped(h.Lost), " ended without another try")
	}
	t.say(". ")
}

func (t *tale) stale(h store.Home) {
	refused := h.TotalRefused()
	switch {
	case h.Verified.Open > 0:
	case refused > 0:
		t.say(Plural(refused, "late write"), plain(refused, " was", " were"), " refused")
		if h.Verified.N > 0 {
			t.say("; no result was changed by a stale attempt")
		}
		t.say(". ")
	case h.Expired.N > 0 && h.Verified.N > 0:
		t.say("No result was changed by a stale attempt. ")
	}
}

func (t *tale) legitimate(h store.Home) {
	waiting := h.States[store.Available]
	switch {
	case h.Running.N > 0:
		t.say(CountText(h.Running), plain(h.Running.N, " job runs", " jobs run"), " under live leases, ", CountText(waiting), " wait to be claimed.")
	case waiting.N > 0:
		t.say(CountText(waiting), plain(waiting.N, " job waits", " jobs wait"), " to be claimed and none is running: is a worker up for its kind and queue?")
	default:
		t.say("No job runs and none waits to be claimed.")
	}
}

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

// recoveryText says what became of the window's expired leases.
func recoveryText(h store.Home) string {
	text := Grouped(h.Reclaimed) + " claimed again"
	if h.Lost > 0 {
		text += ", " + Grouped(h.Lost) + " ended"
	}
	if h.LongestUnowned > 0 {
		text += ", longest without an owner " + Span(h.LongestUnowned)
	}
	if h.Lapsed.N > 0 {
		text += "; " + CountText(h.Lapsed) + " more passed and not swept yet"
	}
	return text
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
