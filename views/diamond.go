package views

import (
	"strings"

	"github.com/fenceline/fenceline/store"
)

// diamond marks one refused write, or several that lie too close to be told
// apart.
type diamond struct {
	X       float64
	Refused []store.Transition
}

const diamondApart = 12.0 // px

// diamonds places an attempt's refused writes.
func diamonds(refused []store.Transition, s scale) []diamond {
	var out []diamond
	for _, r := range refused {
		x := s.x(r.At)
		if n := len(out); n > 0 && x-out[n-1].X < diamondApart {
			out[n-1].Refused = append(out[n-1].Refused, r)
			continue
		}
		out = append(out, diamond{x, []store.Transition{r}})
	}
	return out
}

// last is the newest of the writes that the diamond stands for.
func (d diamond) last() store.Transition { return d.Refused[len(d.Refused)-1] }

// what names the refused writes: "complete refused · superseded", "3 writes
// refused · superseded".
func (d diamond) what() string {
	if len(d.Refused) == 1 {
		return string(d.last().Op) + " refused · " + d.last().Reason
	}
	return Plural(int64(len(d.Refused)), "write") + " refused · " + d.last().Reason
}

// Title says everything about the refused writes, one a line.
func (d diamond) Title() string {
	lines := make([]string, 0, 8)
	for i, r := range d.Refused {
		if i == 7 && len(d.Refused) > 8 {
			lines = append(lines, "and "+Grouped(int64(len(d.Refused)-i))+" more")
			break
		}
		lines = append(lines, fullTime(r.At)+": "+refusal(r))
	}
	return strings.Join(lines, "\n")
}

// refusal says what was offered and what was current.
func refusal(t store.Transition) string {
	text := string(t.Op) + " refused, " + t.Reason + "; generation " + decimal(t.Generation) + " offered"
	if t.Detail.Current != 0 {
		text += ", " + decimal(t.Detail.Current) + " current"
	}
	return text
}
