package views

import (
	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
)

// Limits are the powers of a reader who may not do everything. The server
// refuses what they do not allow; pages only say so beforehand. A nil one
// allows everything.
type Limits struct{ store.Powers }

// WhyNotAct says why the reader may not act in a queue, or returns an empty
// string. An empty queue stands for what reaches beyond any one.
func (l *Limits) WhyNotAct(queue string) string {
	switch {
	case l == nil:
		return ""
	case !l.Role.Includes(store.RoleOperator):
		return "Your role is " + string(l.Role) + "; acting needs operator."
	case l.Queues != nil && queue == "":
		return "You may act in some queues only."
	case !l.ActsOn(queue):
		return "You may not act in this queue."
	}
	return ""
}

// WhyNotReveal says why the reader may not see the payloads of a queue's jobs,
// or returns an empty string.
func (l *Limits) WhyNotReveal(queue string) string {
	switch {
	case l == nil:
		return ""
	case !l.Has(store.RightReveal):
		return "Seeing payloads needs the right reveal."
	case !l.ActsOn(queue):
		return "You may not see payloads of this queue."
	}
	return ""
}

// WhyNotBulk says why the reader may not act on many jobs at once, or returns
// an empty string.
func (l *Limits) WhyNotBulk() string {
	if why := l.WhyNotAct(""); why != "" {
		return why
	}
	if l != nil && !l.Has(store.RightBulk) {
		return "Acting on many jobs needs the right bulk."
	}
	return ""
}

// whyNotAttrs disables a button of which [whyNot] says why.
func whyNotAttrs(why, id string) templ.Attributes {
	if why == "" {
		return nil
	}
	return templ.Attributes{"disabled": true, "aria-describedby": id}
}
