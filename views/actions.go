package views

import "github.com/fenceline/fenceline/store"

// actionName is the word on an action's button.
func actionName(a store.Action) string {
	if a == store.ActionTerminate {
		return "Terminate"
	}
	return "Requeue"
}

// Refusal says why an action is not possible on a job as it stands, or returns
// an empty string.
func Refusal(a store.Action, j store.Job) string {
	switch {
	case a == store.ActionRequeue && j.State == store.Available:
		return "It is already waiting to be claimed."
	case a == store.ActionTerminate && j.State.Terminal():
		return "It has already ended: it is " + string(j.State) + "."
	}
	return ""
}

// Effect says what an action will do to a job as it stands.
func Effect(a store.Action, j store.Job) string {
	if a == store.ActionTerminate {
		if j.State == store.Running {
			return attempt(j.Generation) + " loses its authority at once. Its process is told at its next renewal; what it still writes is refused, but effects outside the database may be under way."
		}
		return "The job ends here. No attempt will be made until somebody requeues it."
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
