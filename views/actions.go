package views

import (
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

var actionNames = map[store.Action]string{
	store.ActionRequeue: "Requeue", store.ActionTerminate: "Terminate", store.ActionAmend: "Change",
	store.ActionNote: "Note", store.ActionDuplicate: "Duplicate", store.ActionErase: "Erase",
}

// actionName is the word on an action's button.
func actionName(a store.Action) string { return actionNames[a] }

// gives reports whether the form is about other args.
func (f ActionForm) gives() bool { return f.Typed.Has(FieldArgs) || f.restores() }

// restores reports whether the form is about older args.
func (f ActionForm) restores() bool { return f.Typed.Has(FieldRestore) }

// changes reports whether the form can change more than args.
func (f ActionForm) changes() bool {
	return !f.gives() && (f.Action == store.ActionAmend || f.Action == store.ActionDuplicate)
}

// name tells the form from the others of a page.
func (f ActionForm) name() string {
	switch {
	case f.restores():
		return "restore"
	case f.gives():
		return "correct"
	}
	return string(f.Action)
}

// ref is the id of a part of the form.
func (f ActionForm) ref(part string) string { return part + "-" + f.name() }

// label is the word on the button that opens the form.
func (f ActionForm) label() string {
	switch {
	case f.restores():
		return "Restore"
	case f.gives():
		return "Correct"
	}
	return actionName(f.Action)
}

// heading is what stands before the job's id.
func (f ActionForm) heading() string {
	switch {
	case f.restores():
		return "Restore arguments of"
	case f.gives():
		return "Correct arguments of"
	case f.Action == store.ActionNote:
		return "Note on"
	}
	return actionName(f.Action)
}

func (f ActionForm) title() string { return f.heading() + " job " + decimal(f.Job.ID) }

// acts are what the form can be sent for, the first one first.
func (f ActionForm) acts() []store.Action {
	if f.gives() {
		return argsActions(f.Job)
	}
	return []store.Action{f.Action}
}

// verb is the word on a button that sends the form.
func (f ActionForm) verb(a store.Action) string {
	switch {
	case !f.gives() && a == store.ActionNote:
		return "Write the note"
	case !f.gives():
		return actionName(a)
	case a == store.ActionAmend:
		return "Save for the next attempt"
	}
	return actionName(a) + " with these"
}

func (f ActionForm) wrong(field string) bool { return f.Problem != nil && f.Problem.Field == field }

// wrongArgs reports whether it is the args, or a part of them, that cannot be
// accepted.
func (f ActionForm) wrongArgs() bool {
	return f.Problem != nil && (f.Problem.Field == FieldArgs || strings.HasPrefix(f.Problem.Field, FieldArgs+"."))
}

// whyNot says why the reader may not do it, or why it is not possible as the job
// stands, or returns an empty string.
func (f ActionForm) whyNot(l *Limits) string {
	why := l.WhyNotAct(f.Job.Queue)
	if f.Action == store.ActionErase || f.gives() {
		why = firstText(why, l.WhyNotReveal(f.Job.Queue))
	}
	if f.gives() {
		return why // some action can always bring other args
	}
	return firstText(why, Refusal(f.Action, f.Job))
}

// saysWhy reports whether the reason stands beside this button: what keeps the
// requeue back, too, is said there once.
func (f ActionForm) saysWhy(l *Limits) bool {
	requeue := ActionForm{Action: store.ActionRequeue, Job: f.Job}
	return f.name() == requeue.name() || f.Action == store.ActionTerminate || f.whyNot(l) != requeue.whyNot(l)
}

func (f ActionForm) whyID(l *Limits) string {
	if f.saysWhy(l) {
		return f.ref("why")
	}
	return "why-" + string(store.ActionRequeue)
}

// changeField is a field of what can be changed.
type changeField struct {
	name, label, now, example string
	at                        time.Time // what it is now, of a time
	fixed                     string    // why it does not change; empty where it can
}

// fields are what can be changed of the job, or made different of its copy.
func (f ActionForm) fields() []changeField {
	j := f.Job
	out := []changeField{
		{name: FieldPriority, label: "Priority", now: decimal(int64(j.Priority))},
		{name: FieldQueue, label: "Queue", now: j.Queue, fixed: f.fixed(FieldQueue)},
		{name: FieldRunAt, label: "Due, UTC", at: j.RunAt, example: "2026-01-31T09:30 or +15m", fixed: f.fixed(FieldRunAt)},
		{name: FieldMaxAttempts, label: "Attempts", now: decimal(int64(j.MaxAttempts))},
		{name: FieldAddTag, label: "Add tag", now: Plural(int64(len(j.Tags)), "tag")},
	}
	if f.Action == store.ActionDuplicate {
		out[2].at, out[2].fixed = time.Time{}, ""
		out[2].now = "at once"
	}
	return out
}

// fixed says why a change cannot be about a field as the job stands, or returns
// an empty string.
func (f ActionForm) fixed(field string) string {
	switch {
	case f.Action != store.ActionAmend:
		return ""
	case f.Job.State == store.Running:
		return "not while it runs"
	case field == FieldRunAt && f.Job.State.Terminal():
		return "it has ended"
	}
	return ""
}

// typed lists what was typed, for a form that cannot be sent any more.
func (f ActionForm) typed() []string {
	var out []string
	if text := f.Typed.Get(FieldReason); text != "" {
		out = append(out, text)
	}
	for _, field := range []string{FieldArgs, FieldRestore, FieldPriority, FieldQueue, FieldRunAt, FieldMaxAttempts, FieldAddTag, FieldRemoveTag} {
		if text := f.Typed.Get(field); text != "" {
			out = append(out, field+": "+text)
		}
	}
	return out
}

// Refusal says why an action is not possible on a job as it stands, or returns
// an empty string.
func Refusal(a store.Action, j store.Job) string {
	switch {
	case a == store.ActionRequeue && j.State == store.Available:
		return "It is already waiting to be claimed."
	case a == store.ActionTerminate && j.State.Terminal():
		return "It has already ended: it is " + string(j.State) + "."
	case (a == store.ActionRequeue || a == store.ActionDuplicate) && !j.ErasedAt.IsZero():
		return "Its arguments were erased; it needs others."
	case a == store.ActionErase && !j.ErasedAt.IsZero():
		return "It has been erased already."
	case a == store.ActionErase && !j.State.Terminal():
		return "It can be erased when it has ended."
	}
	return ""
}

// argsRefusal is [Refusal] of an action that brings other args.
func argsRefusal(a store.Action, j store.Job) string {
	switch {
	case a == store.ActionRequeue && j.State == store.Available:
		return "It is already waiting to be claimed; what it has can be changed while it waits."
	case a == store.ActionAmend && j.State == store.Running:
		return "An attempt runs and keeps what it was given. A requeue takes its lease away first."
	case a == store.ActionAmend && j.State.Terminal():
		return "The job has ended. A requeue runs it again."
	}
	return ""
}

// argsActions lists what can bring a job other args as it stands, the first one
// first.
func argsActions(j store.Job) []store.Action {
	var out []store.Action
	for _, a := range []store.Action{store.ActionAmend, store.ActionRequeue, store.ActionDuplicate} {
		if argsRefusal(a, j) == "" {
			out = append(out, a)
		}
	}
	return out
}

// effect says what sending the form will do.
func (f ActionForm) effect() string {
	if f.gives() {
		return argsEffect(f.Job)
	}
	return Effect(f.Action, f.Job)
}

// argsEffect says what other args do to a job as it stands.
func argsEffect(j store.Job) string {
	kept := "Those it has now are kept as version " + decimal(j.ArgsVersion) + "."
	if !j.ErasedAt.IsZero() {
		kept = "It has none now: they were erased."
	}
	switch {
	case j.State == store.Running:
		return kept + " A requeue takes the lease away from attempt " + decimal(j.Generation) + " first; what that still writes is refused."
	case j.State.Terminal():
		return kept + " A requeue runs the job again with these."
	}
	return kept + " Its next attempt gets these."
}

// Effect says what an action will do to a job as it stands.
func Effect(a store.Action, j store.Job) string {
	switch a {
	case store.ActionTerminate:
		if j.State == store.Running {
			return attempt(j.Generation) + " loses its authority at once. Its process is told at its next renewal; what it still writes is refused, but effects outside the database may be under way."
		}
		return "The job ends here. No attempt will be made until somebody requeues it."
	case store.ActionAmend:
		return "Changes what you fill in; what is empty stays as it is."
	case store.ActionNote:
		return "Puts your words on the job’s timeline. Nothing else of it changes."
	case store.ActionDuplicate:
		return "Enqueues a new job with the same arguments, under no key. What is empty is as it is here. This job stays as it is."
	case store.ActionErase:
		text := "Removes its arguments with every older version, its result, and the texts of its errors and outputs. Its timeline stays. Nothing brings them back."
		if j.Key != "" {
			text += " Its key stays taken: whoever enqueues with it again is refused."
		}
		return text
	}
	switch j.State {
	case store.Running:
		return "Takes the lease away from attempt " + decimal(j.Generation) + ". The next claim is attempt " + decimal(j.Generation+1) + ", and what the old one still writes is refused."
	case store.Scheduled, store.Retryable:
		return "The job may be claimed now instead of at its due time."
	case store.Completed:
		return "The job runs again. Its stored result stays until a new one is accepted."
	}
	return "The job runs again, with at least one more attempt."
}

// restorable is what a choice of versions says of one.
func restorable(v store.ArgsVersion) string {
	return "version " + decimal(v.Version) + ", until " + v.ReplacedAt.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// conflictText says why an action was refused, as a sentence for the reader.
func conflictText(c *store.ConflictError) string {
	switch c.Why {
	case store.ConflictAlreadyWaiting:
		return "Nothing was done: the job is already waiting to be claimed."
	case store.ConflictAlreadyEnded:
		return "Nothing was done: the job has already ended."
	case store.ConflictRunning:
		return "Nothing was done: the job is running."
	case store.ConflictNotEnded:
		return "Nothing was done: the job has not ended."
	case store.ConflictErased:
		return "Nothing was done: the job was erased."
	}
	return "Nothing was done: the job changed since you looked."
}

// headActions are those at the head of a job's page.
var headActions = []store.Action{store.ActionRequeue, store.ActionTerminate, store.ActionAmend, store.ActionDuplicate, store.ActionNote}

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
