package views

import "github.com/fenceline/fenceline/store"

// Tone is the class that colours a word. A tone never stands alone: an icon or
// the word itself says the same.
type Tone string

// The tones of the console.
const (
	ToneNone  Tone = ""
	ToneRun   Tone = "run"   // under a live lease
	ToneOK    Tone = "ok"    // accepted
	ToneWait  Tone = "wait"  // waits, or ended without alarm
	ToneRetry Tone = "retry" // recovering
	ToneBad   Tone = "bad"   // given up
	ToneStale Tone = "stale" // a refused write
)

// StateTone returns the tone of a state.
func StateTone(s store.State) Tone {
	switch s {
	case store.Running:
		return ToneRun
	case store.Completed:
		return ToneOK
	case store.Retryable:
		return ToneRetry
	case store.Discarded:
		return ToneBad
	}
	return ToneWait
}

// TypeTone returns the tone of a transition.
func TypeTone(t store.Type) Tone {
	switch t {
	case store.TypeClaimed, store.TypeRenewed:
		return ToneRun
	case store.TypeCompleted:
		return ToneOK
	case store.TypeExpired:
		return ToneRetry
	case store.TypeFailed:
		return ToneBad
	case store.TypeRejected:
		return ToneStale
	}
	return ToneWait
}

// Offered says what a refused write brought, for a sentence: "with a result".
func Offered(op store.Op) string {
	switch op {
	case store.OpComplete:
		return "with a result"
	case store.OpFail:
		return "with a failure"
	case store.OpRelease:
		return "to give the job back"
	}
	return "to renew its lease"
}

// reasonWords are the protocol's reasons in words; the reason itself is shown
// beside them.
var reasonWords = map[string]string{
	string(store.ReasonSuperseded):   "a newer attempt holds the job",
	string(store.ReasonLeaseExpired): "its lease had passed",
	string(store.ReasonAlreadyEnded): "this attempt had ended",
	string(store.ReasonTerminated):   "an operator terminated the job",
	store.ReasonBudgetSpent:          "no attempt is left",
	store.ReasonPermanent:            "no retry can help",
	store.ReasonResultUnstorable:     "its result cannot be stored",
}

// ReasonWords explains a protocol's reason, or returns an empty string.
func ReasonWords(reason string) string { return reasonWords[reason] }

// byOperator reports whether a transition's reason is an operator's own text.
func byOperator(t store.Type) bool { return t.Operated() }
