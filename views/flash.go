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
)

var flashTexts = map[Flash]string{
	FlashRequeued:   "Requeued. The next claim gets the next generation; whatever an older attempt still writes is refused.",
	FlashTerminated: "Terminated. Nothing an attempt writes is accepted from here on; effects outside the database may still be under way.",
	FlashDrill:      "The drill is running with two real processes. Watch this page: the first one's late result will be refused.",
	FlashDrillBusy:  "A drill is already running. This is its job.",
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
