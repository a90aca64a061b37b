package proof

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fenceline/fenceline/store"
)

// Timeline shows a history to a person: what was asked and answered, in the
// order in which the calls began, then the longest order that the protocol
// allows and where it stops, then what the store has on record.
func (h *History) Timeline() string {
	var b strings.Builder
	fmt.Fprintf(&b, "history %d of seed %d, job %d\n", h.Script.Index, h.Script.Seed, h.JobID)
	for _, broken := range h.Broken {
		fmt.Fprintf(&b, "  broken: %s\n", broken)
	}
	b.WriteString("calls\n")
	for i, e := range h.Events {
		fmt.Fprintf(&b, "  %2d %s %-8s %-42s -> %s\n", i+1, span(e), who[e.Client], e.Call, e.Answer)
	}
	h.order(&b)
	b.WriteString("on record\n")
	for _, t := range h.Log {
		fmt.Fprintf(&b, "  %s\n", h.recorded(t))
	}
	fmt.Fprintf(&b, "  the row: %s\n", h.names.row(h.Job))
	return b.String()
}

// recorded is a transition as a line.
func (h *History) recorded(t store.Transition) string {
	line := string(t.Type)
	if t.Type == store.TypeRejected {
		line += fmt.Sprintf(" %s: %s", t.Op, t.Reason)
	}
	if by := (Fence{h.names.number(t.AttemptID), t.Generation}); by.Attempt != 0 {
		line += " by " + by.String()
	}
	if t.To != "" {
		line += fmt.Sprintf(" -> %s r%d %d/%d", t.To, t.Revision, t.Attempts, t.MaxAttempts)
	}
	return line
}

func span(e Event) string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%7.2f", float64(d)/float64(time.Millisecond)) }
	if e.Ended == never {
		return ms(e.Began) + " -     ? ms"
	}
	return ms(e.Began) + " -" + ms(e.Ended) + " ms"
}

// order writes the longest legal order, if not all calls have one.
func (h *History) order(b *strings.Builder) {
	result, info := porcupine.CheckOperationsVerbose(legal, h.operations(), patience)
	if result == porcupine.Ok {
		return
	}
	var longest []int
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	b.WriteString("the longest order that the protocol allows\n")
	s := State{}
	placed := map[int]bool{}
	for _, i := range longest {
		placed[i] = true
		_, s = s.step(h.Events[i].Call, h.Events[i].Answer)
		fmt.Fprintf(b, "  %2d %-8s %-42s => %s\n", i+1, who[h.Events[i].Client], h.Events[i].Call, s.row())
	}
	b.WriteString("where none of the calls that are left can follow\n")
	for i, e := range h.Events {
		if placed[i] || e.Answer.Lost {
			continue
		}
		fmt.Fprintf(b, "  %2d %-8s %-42s -> %s\n", i+1, who[e.Client], e.Call, e.Answer)
		for _, o := range s.After(e.Call) {
			fmt.Fprintf(b, "     %-8s %-42s -> %s\n", "", "here it could be answered", o.Answer)
		}
	}
}
