package views

// Flash is the code of a message that the page after an action shows. It
// travels in the query, so it is a code from a fixed list and never a text.
type Flash string

// What an action can have done.
const (
	FlashRequeued   Flash = "requeued"
	FlashTerminated Flash = "terminated"
	FlashDrill      Flash = "drill"
	FlashDrillBusy  Flash = "drill-running"
	FlashPaused     Flash = "paused"
	FlashResumed    Flash = "resumed"
	FlashLimited    Flash = "limited"
	FlashDrained    Flash = "drained"

	FlashConfirmed       Flash = "confirmed"
	FlashConfirmedBefore Flash = "confirmed-before"
	FlashOperationPaused Flash = "operation-paused"
	FlashOperationGoesOn Flash = "operation-resumed"
	FlashCancelled       Flash = "operation-cancelled"

	FlashIncident Flash = "incident-changed"

	FlashAmended    Flash = "amended"
	FlashNoted      Flash = "noted"
	FlashDuplicated Flash = "duplicated"
	FlashErased     Flash = "erased"
	FlashTold       Flash = "told"

	FlashPowers   Flash = "powers"
	FlashDisabled Flash = "disabled"
	FlashEnabled  Flash = "enabled"
	FlashSignOuts Flash = "sign-outs"
	FlashRevoked  Flash = "revoked"
	FlashAdded    Flash = "added"
	FlashPassword Flash = "password"
	FlashRemoved  Flash = "removed"
)

var flashTexts = map[Flash]string{
	FlashRequeued:        "Requeued. The next claim gets the next generation; whatever an older attempt still writes is refused.",
	FlashTerminated:      "Terminated. Nothing an attempt writes is accepted from here on; effects outside the database may still be under way.",
	FlashDrill:           "The drill is running with two real processes. Watch this page: the first one's late result will be refused.",
	FlashPaused:          "Paused. Nothing of it is claimed from here on; what runs goes on.",
	FlashResumed:         "Resumed. Jobs are claimed again.",
	FlashLimited:         "Set. The limits hold over all processes from the next claim on.",
	FlashDrained:         "The worker claims no more, and finishes what it holds.",
	FlashConfirmed:       "Confirmed. It goes on by itself, also when this page is closed.",
	FlashConfirmedBefore: "It had been confirmed before. Nothing was done twice.",
	FlashOperationPaused: "Paused between two steps.",
	FlashOperationGoesOn: "Resumed. It goes on where it stopped.",
	FlashCancelled:       "Cancelled. What had been done stays done.",

	FlashAmended:    "Changed. What the job was is on its timeline.",
	FlashNoted:      "Noted on the job’s timeline.",
	FlashDuplicated: "Duplicated. This is the new job; both timelines name the other.",
	FlashErased:     "Erased. The timeline stays; nothing brings the payload back.",

	FlashIncident: "Done, and on the incident’s timeline.",
	FlashTold:     "The message is on its way. This is its job: its result says what the other side answered.",

	FlashPowers:   "Changed. It holds from their next request on, and for pages that are open within seconds.",
	FlashDisabled: "Disabled. Every session is ended, and tokens of this person act no more.",
	FlashEnabled:  "Enabled. They may sign in again, and their tokens act.",
	FlashSignOuts: "Signed out there.",
	FlashRevoked:  "Revoked. The token is not valid any more.",
	FlashAdded:    "Added. They may sign in with the password that you gave, and change it on their own account’s page.",
	FlashPassword: "Set. They are signed out everywhere; only the new password lets them in.",
	FlashRemoved:  "Removed, with its sessions and tokens. What was recorded stays.",

	FlashDrillBusy: "A drill is already running. This is its job.",
}

// KnownFlash returns the flash that a query names, or an empty one when the
// code is unknown.
func KnownFlash(code string) Flash {
	if _, ok := flashTexts[Flash(code)]; ok {
		return Flash(code)
	}
	return ""
}

// Text returns the message, or an empty string for an unknown code.
func (f Flash) Text() string { return flashTexts[f] }
