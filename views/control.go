package views

import (
	"slices"
	"time"

	"github.com/fenceline/fenceline/store"
)

// The fields of the forms that change a control, beside [FieldReason] and
// [FieldSeen].
const (
	FieldScope       = "scope"       // a [store.Scope]
	FieldName        = "name"        // the queue, kind or worker
	FieldFor         = "for"         // how long a pause is, as 15m; empty for without an end
	FieldConcurrency = "concurrency" // a number, or nothing for no limit
	FieldRate        = "rate"        // a number, or nothing for no limit
	FieldPer         = "per"         // the time of the rate, as 1m
)

// ControlForm is the form of a change of a control, with what was typed into it.
type ControlForm struct {
	Action  store.Action
	Control store.Control // as it is now; the form is bound to its revision

	Reason, For, Concurrency, Rate, Per string
	Problem                             *store.InvalidError
	Gone                                bool // the worker has ended
}

// ControlPage is the form of a change on a page of its own.
type ControlPage struct {
	Frame
	Form     ControlForm
	Conflict *store.ControlConflictError
}

// LimitForm is the form with the limits that are set now.
func LimitForm(c store.Control) ControlForm {
	f := ControlForm{Action: store.ActionLimit, Control: c, Per: "1m"}
	if n := c.Limits.Concurrency; n > 0 {
		f.Concurrency = decimal(int64(n))
	}
	if r := c.Limits.Rate; r.N > 0 {
		f.Rate, f.Per = decimal(int64(r.N)), periodValue(r.Per)
	}
	return f
}

type choice struct{ value, name string }

var pauseLengths = []choice{
	{"", "until somebody resumes it"}, {"15m", "15 minutes"}, {"1h", "1 hour"}, {"4h", "4 hours"}, {"8h", "8 hours"}, {"24h", "24 hours"},
}

var ratePeriods = []choice{{"1s", "second"}, {"1m", "minute"}, {"1h", "hour"}, {"24h", "day"}}

// with returns choices, and before them the present value where it is none of
// them.
func with(choices []choice, value string) []choice {
	if slices.ContainsFunc(choices, func(c choice) bool { return c.value == value }) {
		return choices
	}
	return append([]choice{{value, value}}, choices...)
}

// periodValue writes a time as the choices do.
func periodValue(d time.Duration) string {
	for _, p := range ratePeriods {
		if known, err := time.ParseDuration(p.value); err == nil && known == d {
			return p.value
		}
	}
	return d.String()
}

func (f ControlForm) verb() string {
	switch f.Action {
	case store.ActionResume:
		return "Resume"
	case store.ActionLimit:
		return "Limit"
	case store.ActionDrain:
		return "Drain"
	}
	return "Pause"
}

func (f ControlForm) id(part string) string {
	return nameID(part+"-"+string(f.Action), string(f.Control.Scope)+":"+f.Control.Name)
}

func (f ControlForm) wrong(field string) bool { return f.Problem != nil && f.Problem.Field == field }

// effect says what the change will do.
func (f ControlForm) effect() string {
	what := map[store.Scope]string{
		store.ScopeAll: "no job", store.ScopeQueue: "no job of this queue", store.ScopeKind: "no job of this kind, in whatever queue,",
	}[f.Control.Scope]
	switch f.Action {
	case store.ActionPause:
		return "From the moment this is answered " + what + " is claimed. Running jobs go on and keep their leases; new ones are taken in and wait."
	case store.ActionDrain:
		return "The worker claims no more. What it holds it finishes, under its leases. It stays up: stop it when it is drained, or resume it."
	case store.ActionLimit:
		return "Both hold over all processes, from the next claim on; an empty field limits nothing. Running jobs stay, also above a limit that is lowered."
	}
	if f.Control.Scope == store.ScopeAll {
		return "Jobs are claimed again at once. Queues and kinds that were paused on their own stay paused."
	}
	return "Jobs are claimed again at once. Limits stay as they are."
}

// refusal says why a change is not possible on what is set now.
func (f ControlForm) refusal(now time.Time) string {
	switch {
	case f.Gone:
		return "The worker has ended."
	case f.Action == store.ActionResume && !f.Control.PausedAt(now):
		return "It is not paused."
	}
	return ""
}

func controlConflictText(c *store.ControlConflictError) string {
	switch c.Why {
	case store.ConflictNotPaused:
		return "Nothing was done: it is not paused."
	case store.ConflictAlreadyEnded:
		return "Nothing was done: the worker has already ended."
	}
	return "Nothing was done: somebody changed what is set since you looked."
}

func controlClass(a store.Action) string {
	if a == store.ActionPause || a == store.ActionDrain {
		return "danger"
	}
	return "main"
}

func pauseOf(s store.Scope) store.Action {
	if s == store.ScopeWorker {
		return store.ActionDrain
	}
	return store.ActionPause
}

func pausedText(c store.Control) string {
	switch c.Scope {
	case store.ScopeAll:
		return "Everything is paused"
	case store.ScopeWorker:
		return "Drained"
	}
	return "Paused"
}

func tabOf(s store.Scope) string {
	if s == store.ScopeWorker {
		return "workers"
	}
	return "queues"
}

func changeTone(c store.ControlChange) string {
	if c.Outcome != "done" {
		return string(ToneRetry)
	}
	return string(ToneWait)
}

// changeText says what came of a change, in a few words.
func changeText(c store.ControlChange) string {
	if c.Outcome != "done" {
		return "refused: " + c.Outcome
	}
	if c.Action != store.ActionLimit {
		return ""
	}
	switch {
	case c.Limits == store.Limits{}:
		return "no limit"
	case c.Limits.Rate.N == 0:
		return "at most " + Grouped(int64(c.Limits.Concurrency)) + " at once"
	case c.Limits.Concurrency == 0:
		return "at most " + LimitText(c.Limits.Rate)
	}
	return "at most " + Grouped(int64(c.Limits.Concurrency)) + " at once and " + LimitText(c.Limits.Rate)
}

// notClaimedText says of a waiting job what a pause means for it.
func notClaimedText(c store.Control) string {
	switch c.Scope {
	case store.ScopeQueue:
		return "It is not claimed now, because its queue is"
	case store.ScopeKind:
		return "It is not claimed now, because its kind is"
	}
	return "It is not claimed now, because everything is"
}

// nobodyText says of a waiting job that nobody would claim it.
func nobodyText(p store.Prospects) string {
	switch {
	case p.NoQueue:
		return "No live worker works its queue"
	case p.Draining:
		return "The workers that handle this kind in its queue are drained"
	}
	return "No live worker handles this kind in its queue"
}

// limitedText says of a waiting job which limits it is under.
func limitedText(c store.Control) string {
	return "Its " + string(c.Scope) + " is limited: " + changeText(store.ControlChange{Action: store.ActionLimit, Outcome: "done", Limits: c.Limits})
}

// queue is the queue that the change stays within; empty for none.
func (f ControlForm) queue() string {
	if f.Control.Scope == store.ScopeQueue {
		return f.Control.Name
	}
	return ""
}
