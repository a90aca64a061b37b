package views

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// px writes a coordinate with one decimal at most.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func tickPath(l laneShape) string {
	var b strings.Builder
	for _, x := range l.Ticks {
		b.WriteString("M" + px(x) + " " + px(l.Y+4) + "v" + px(l.Height-8))
	}
	return b.String()
}

func diamondPath(x, y, r float64) string {
	return "M" + px(x) + " " + px(y-r) + "l" + px(r) + " " + px(r) + " " + px(-r) + " " + px(r) + " " + px(-r) + " " + px(-r) + "z"
}

func (f flagShape) anchor() string {
	if f.Right {
		return "end"
	}
	return "start"
}

func (f flagShape) textX() float64 {
	if f.Right {
		return f.X - 5
	}
	return f.X + 5
}

// workerX is where a lane's worker is written: behind its generation.
func workerX(generation int64) float64 {
	return 22 + 7*float64(len(decimal(generation)))
}

const monoWidth = 6.7 // px of a rune of the drawing's fixed-width text

func workerRunes(generation int64) int {
	return max(6, int((plotLeft-10-workerX(generation))/monoWidth))
}

func endTone(e store.End) Tone {
	switch e {
	case store.EndCompleted:
		return ToneOK
	case store.EndFailed, store.EndTerminated:
		return ToneBad
	case store.EndExpired:
		return ToneRetry
	}
	return ToneWait
}

func hatchTitle(l laneShape) string {
	if l.HatchOpen {
		return "The process may still run, without authority. Nothing was heard of it since."
	}
	return "The process ran on without authority until its write was refused."
}

func hiddenText(lanes []store.Lane) string {
	refused := int64(0)
	for _, l := range lanes {
		refused += int64(len(l.Refused))
	}
	text := Plural(int64(len(lanes)), "earlier attempt") + " not drawn"
	if refused > 0 {
		text += ", with " + Plural(refused, "refused write")
	}
	return text
}

const mostTableLanes = 400

// tableLanes returns the newest attempts and how many earlier ones a table
// leaves out.
func tableLanes(all []store.Lane) ([]store.Lane, int) {
	if len(all) <= mostTableLanes {
		return all, 0
	}
	return all[len(all)-mostTableLanes:], len(all) - mostTableLanes
}

func heldText(l store.Lane, now time.Time) string {
	if l.ClaimedAt.IsZero() {
		return "–"
	}
	return Span(authorityEnd(l, now).Sub(l.ClaimedAt))
}

func renewalText(l store.Lane) string {
	switch n := len(l.Renewals); n {
	case 0:
		return "none"
	case 1:
		return "1"
	default:
		return Grouped(int64(n)) + ", longest pause " + Span(largestInterval(l.Renewals))
	}
}
