package views

import (
	"github.com/fenceline/fenceline/store"
)

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

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
