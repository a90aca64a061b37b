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

// effect says what sending the form will do.
func (f ActionForm) effect() string {
	if f.gives() {
		return argsEffect(f.Job)
	}
	return Effect(f.Action, f.Job)
}

// restorable is what a choice of versions says of one.
func restorable(v store.ArgsVersion) string {
	return "version " + decimal(v.Version) + ", until " + v.ReplacedAt.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// headActions are those at the head of a job's page.
var headActions = []store.Action{store.ActionRequeue, store.ActionTerminate, store.ActionAmend, store.ActionDuplicate, store.ActionNote}
