package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
)

// OperationsPage is the list of operations.
type OperationsPage struct {
	Frame
	Operations []store.Operation // newest first
}

// OperationPage is one operation: its preview while it is one, then its progress.
// After a refused change it says why, and what was typed is kept.
type OperationPage struct {
	Frame
	View     store.OperationView
	Conflict *store.OperationConflictError // why a change was refused (409)
	Problem  *store.InvalidError           // which field cannot be accepted (422)
	Tried    OperationForm                 // what was typed into the form that was refused
}

// OperationForm is the form of a change of an operation.
type OperationForm struct {
	Action                  store.Action
	Reason, Pace, HaltAbove string
}

// OperationsParts and OperationParts are what of their pages changes.
func OperationsParts(p OperationsPage) []templ.Component {
	return []templ.Component{operationsTable(p)}
}

// OperationParts are the parts of an operation's page, each with one root.
func OperationParts(p OperationPage) []templ.Component {
	return []templ.Component{operationHead(p), operationFacts(p), operationSample(p), operationSkips(p), operationEvents(p)}
}

// form is the form of a change, with what was typed where it was refused.
func (p OperationPage) form(a store.Action) OperationForm {
	o := p.View.Operation
	f := OperationForm{Action: a}
	if o.Pace > 0 {
		f.Pace = decimal(int64(o.Pace))
	}
	if o.HaltAbove > 0 {
		f.HaltAbove = decimal(int64(o.HaltAbove))
	}
	if p.Tried.Action == a {
		f = p.Tried
	}
	return f
}

func (p OperationPage) wrong(a store.Action, field string) bool {
	return p.Problem != nil && p.Tried.Action == a && p.Problem.Field == field
}

// can lists the changes that are possible as it stands.
func (p OperationPage) can() []store.Action {
	switch p.View.Operation.State {
	case store.OperationRunning:
		return []store.Action{store.ActionPause, store.ActionCancel}
	case store.OperationPaused, store.OperationHalted:
		return []store.Action{store.ActionResume, store.ActionCancel}
	}
	return nil
}

// lost is what was typed for a change that is not possible any more.
func (p OperationPage) lost() string {
	if p.Conflict == nil || slices.Contains(p.can(), p.Tried.Action) {
		return ""
	}
	return p.Tried.Reason
}

func operationVerb(a store.Action) string {
	switch a {
	case store.ActionConfirm:
		return "Confirm"
	case store.ActionPause:
		return "Pause"
	case store.ActionResume:
		return "Resume"
	case store.ActionCancel:
		return "Cancel the operation"
	case store.ActionTerminate:
		return "Terminate"
	}
	return "Requeue"
}

func operationTitle(o store.Operation) string {
	return operationVerb(o.Action) + " " + Plural(o.Total, "job")
}

func operationTone(s store.OperationState) string {
	switch s {
	case store.OperationRunning:
		return string(ToneRun)
	case store.OperationFinished:
		return string(ToneOK)
	case store.OperationHalted:
		return string(ToneBad)
	case store.OperationPaused:
		return string(ToneRetry)
	}
	return string(ToneWait)
}

// operationIcon is the sign of a state, so that it is told without colour.
func operationIcon(s store.OperationState) string {
	switch s {
	case store.OperationRunning:
		return string(store.Running)
	case store.OperationFinished:
		return string(store.Completed)
	case store.OperationHalted:
		return "alarm"
	case store.OperationPaused:
		return "paused"
	case store.OperationCancelled:
		return string(store.Terminated)
	}
	return string(store.Available)
}

// operationStory says in a sentence what is going on.
func operationStory(o store.Operation) string {
	switch o.State {
	case store.OperationPreview:
		if n := leftAlone(o); n == o.Total && n > 0 {
			return "Nothing has been done yet, and confirming would do nothing: as they stand, all of these jobs would be left alone."
		}
		return "Nothing has been done yet. Confirming acts on exactly these " + Plural(o.Total, "job") + ", each as it was seen; one that changes first, or arrives later, is left alone."
	case store.OperationRunning:
		if o.SteppedAt.IsZero() {
			return "It is confirmed and begins as soon as a process takes it up."
		}
		return "It is being carried on in small steps. It goes on when a process or this server is stopped."
	case store.OperationPaused:
		return "It is paused: nothing more is done until somebody resumes it."
	case store.OperationHalted:
		if o.HaltCode == store.HaltRightLost {
			return "It was halted: " + o.HaltReason + ". The other " + Plural(o.Total-o.Position, "job") + " were not touched. Whoever may act on many jobs resumes it in their own name, or cancels it."
		}
		return "Its stop rule has halted it: " + o.HaltReason + "."
	case store.OperationCancelled:
		return "It was cancelled. What had been done stays done; the other " + Plural(o.Total-o.Position, "job") + " were not touched."
	}
	return "It is finished: " + Grouped(o.Done) + " done, " + Grouped(o.Skipped()) + " left alone."
}

var whySkipped = map[store.Conflict]string{
	store.ConflictChanged:        "changed since it was looked at",
	store.ConflictAlreadyWaiting: "already waiting to be claimed",
	store.ConflictAlreadyEnded:   "has already ended",
	store.ConflictErased:         "its arguments were erased",
	store.ConflictGone:           "is no longer there",
	store.ConflictBusy:           "was kept locked by another session",
}

// countedStates says how many jobs were in which state.
func countedStates(o store.Operation) string {
	var out []string
	for _, s := range store.States {
		if n := o.States[s]; n > 0 {
			out = append(out, Grouped(n)+" "+string(s))
		}
	}
	return strings.Join(out, ", ")
}

// counted is a number of jobs that were left alone, with why.
type counted struct {
	why store.Conflict
	n   int64
}

func byWhy(all map[store.Conflict]int64) []counted {
	var out []counted
	for why, n := range all {
		out = append(out, counted{why, n})
	}
	slices.SortFunc(out, func(a, b counted) int { return strings.Compare(string(a.why), string(b.why)) })
	return out
}

// leftAlone is how many jobs of a preview nothing would be done to as they stand.
func leftAlone(o store.Operation) (n int64) {
	for _, c := range o.Expected {
		n += c
	}
	return n
}

// warning says what an action does to jobs that run.
func warning(o store.Operation) string {
	n := o.States[store.Running]
	switch {
	case n == 0 || o.State != store.OperationPreview:
		return ""
	case o.Action == store.ActionTerminate:
		return Plural(n, "job") + " among them run now. Their attempts lose their permission at once; effects outside the database may still be under way."
	}
	return Plural(n, "job") + " among them run now. Requeueing takes their leases away and runs them again."
}

func paceText(o store.Operation) string {
	if o.Pace == 0 {
		return "as fast as it goes"
	}
	return "at most " + Grouped(int64(o.Pace)) + " a minute"
}

func ruleText(o store.Operation) string {
	if o.HaltAbove == 0 {
		return "none"
	}
	return fmt.Sprintf("halt when more than %d%% fail again with the same error", o.HaltAbove)
}

func operationEventText(e store.OperationEvent) string {
	if e.Outcome == "repeated" {
		return "pressed again; nothing was done twice"
	}
	if e.Outcome != "done" {
		return "refused: " + e.Outcome
	}
	var out []string
	if e.Pace > 0 {
		out = append(out, "at most "+Grouped(int64(e.Pace))+" a minute")
	}
	if e.Halt > 0 {
		out = append(out, fmt.Sprintf("halt above %d%%", e.Halt))
	}
	return strings.Join(out, ", ")
}

// bulkLabel is what the button for everything that matches says.
func bulkLabel(verb string, c store.Count) string {
	if c.Capped {
		return verb + " all that match…"
	}
	return verb + " all " + Grouped(c.N) + "…"
}

func operationClass(a store.Action) string {
	if a == store.ActionCancel || a == store.ActionTerminate {
		return "danger"
	}
	return "main"
}

func operationEffect(a store.Action) string {
	switch a {
	case store.ActionPause:
		return "When this is answered no step is under way, and none begins until somebody resumes it."
	case store.ActionCancel:
		return "What was done stays done. The jobs that were not dealt with yet are not touched."
	}
	return "It goes on with the jobs that were not dealt with yet, each as it was seen at first, in your name from here on. A stop rule judges only what is requeued from here on."
}

func reasonAlso(a store.Action) string {
	if a == store.ActionConfirm {
		return " and on each job’s timeline"
	}
	return ""
}
