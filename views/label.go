package views

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fenceline/fenceline/store"
)

// label is a text of the drawing. Where At is set, its time stands between
// Text and After and is shown in the reader's zone.
type label struct {
	X, Y   float64
	Anchor string // "start", "middle" or "end"
	Class  string
	Text   string
	At     time.Time
	After  string
}

const runeWidth = 6.2 // px of a rune of the drawing's text, generously

func textWidth(s string) float64 { return runeWidth * float64(utf8.RuneCountInString(s)) }

func (t label) width() float64 {
	width := textWidth(t.Text + t.After)
	if !t.At.IsZero() {
		width += 9 * runeWidth
	}
	return width
}

func (t label) left() float64 {
	switch t.Anchor {
	case "end":
		return t.X - t.width()
	case "middle":
		return t.X - t.width()/2
	}
	return t.X
}

func (t label) right() float64 { return t.left() + t.width() }

// placeLabels writes beside, in and under a lane what fits.
func (l *laneShape) placeLabels(compact bool) {
	l.Inside = l.insideText()
	if l.Ahead.W > 0 && !compact {
		l.labelAhead()
	}
	switch {
	case len(l.Diamonds) > 0:
		l.labelRefusal(compact)
	case l.End != "":
		l.labelEnd(compact)
	case l.Hatch.W > 0:
		l.beside(l.Hatch.end()+8, label{Class: "t", Text: "lease passed, not taken back yet"}, compact)
	}
	if l.Hatch.W > 0 && len(l.Diamonds) > 0 && !compact {
		l.labelLeaseEnd()
	}
}

// insideText is what the bar has room for. How long an attempt held the job stands
// beside its end where it ended itself; of one that runs it grows, and is not
// written where nothing counts it on.
func (l *laneShape) insideText() string {
	held, renewed := "", ""
	if l.EndX >= 0 && !l.ended() {
		held = "held " + Span(authorityEnd(l.Lane, l.EndedAt).Sub(l.ClaimedAt))
	}
	if n := len(l.Renewals); n > 0 {
		renewed = "renewed ×" + Grouped(int64(n))
	}
	room := l.Held.W - 12
	if len(l.Ticks) > 0 {
		room = l.Ticks[0] - l.Held.X - 12
		renewed = ""
	}
	for _, texts := range [][]string{{"claimed", held, renewed}, {"claimed", held}, {"claimed", renewed}, {held}, {"claimed"}, {renewed}} {
		text := strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), " · ")
		if text != "" && textWidth(text) <= room {
			return text
		}
	}
	return ""
}

func (l *laneShape) labelAhead() {
	text := label{Text: "lease until ", At: l.LeaseUntil}
	if text.width()+8 <= l.Ahead.W {
		text.X, text.Y, text.Anchor = l.Ahead.end()-8, l.Y+15, "end"
	} else {
		text.X, text.Y, text.Anchor = min(l.Ahead.end(), plotRight), l.Y+l.Height+14, "end"
	}
	l.Labels = append(l.Labels, text)
}

func (l *laneShape) labelRefusal(compact bool) {
	d := l.Diamonds[len(l.Diamonds)-1]
	r := d.last()
	detail := label{At: r.At, After: lateText(l.Lane, r) + offeredText(r)}
	x := d.X + 16
	if compact {
		l.beside(x, label{Class: "t", Text: d.what()}, true)
		return
	}
	if x+max(textWidth(d.what()), 13*runeWidth+textWidth(detail.After)) <= plotRight {
		l.Labels = append(l.Labels,
			label{X: x, Y: l.Y + 9, Anchor: "start", Class: "t", Text: d.what()},
			label{X: x, Y: l.Y + 23, Anchor: "start", At: detail.At, After: detail.After})
		return
	}
	l.Labels = append(l.Labels, label{
		X: min(d.X+8, plotRight), Y: l.Y + l.Height + 14, Anchor: "end", Class: "t",
		Text: d.what() + " · ", At: detail.At, After: detail.After})
}

// lateText says how long after the end of its permission an attempt wrote.
func lateText(l store.Lane, r store.Transition) string {
	if l.ClaimedAt.IsZero() {
		return ""
	}
	if late := r.At.Sub(authorityEnd(l, r.At)); late > 0 {
		return ", " + Span(late) + " late"
	}
	return ""
}

func offeredText(r store.Transition) string {
	text := ", generation " + decimal(r.Generation) + " offered"
	if r.Detail.Current != 0 {
		text += ", " + decimal(r.Detail.Current) + " current"
	}
	return text
}

// ended reports whether the attempt ended itself.
func (l *laneShape) ended() bool { return l.End == store.EndCompleted || l.End == store.EndFailed }

func (l *laneShape) labelEnd(compact bool) {
	text := endText(l.Lane)
	x := max(l.EndX, l.Hatch.end()) + 10
	if l.ended() {
		long := string(l.End) + " after " + Span(l.EndedAt.Sub(l.ClaimedAt)) + strings.TrimPrefix(text, string(l.End))
		if !compact || x+textWidth(long) <= plotRight {
			text = long
		}
	}
	if l.End == store.EndExpired {
		l.beside(l.Hatch.end()+8, label{Class: "t", Text: text + " ", At: l.LeaseUntil}, compact)
		return
	}
	l.beside(x, label{Class: "t", Text: text}, compact)
}

// endText says how an attempt ended, with why.
func endText(l store.Lane) string {
	switch l.End {
	case store.EndExpired:
		return "lease ended"
	case store.EndRequeued:
		return "taken away by a requeue"
	case store.EndTerminated:
		return "terminated"
	case store.EndFailed:
		if l.Reason != "" {
			return "failed · " + l.Reason
		}
	}
	return string(l.End)
}

// beside puts a label after x, or under the lane where there is no room. A
// compact lane has no room under it and goes without.
func (l *laneShape) beside(x float64, t label, compact bool) {
	switch {
	case x+t.width() <= plotRight:
		t.X, t.Y, t.Anchor = x, l.Y+l.Height/2+4, "start"
	case compact:
		return
	default:
		t.X, t.Y, t.Anchor = min(x, plotRight), l.Y+l.Height+14, "end"
	}
	l.Labels = append(l.Labels, t)
}

// under reports whether something is written under the lane between two places.
func (l *laneShape) under(x0, x1 float64) bool {
	for _, t := range l.Labels {
		if t.Y > l.Y+l.Height+6 && t.left() < x1 && t.right() > x0 {
			return true
		}
	}
	return false
}

// labelLeaseEnd names the border between authority and none, above the lane.
func (l *laneShape) labelLeaseEnd() {
	text := "lease ended"
	if l.End != store.EndExpired && l.End != "" {
		text = endText(l.Lane)
	}
	x, anchor := l.Held.end(), "end"
	if x-textWidth(text) < plotLeft {
		anchor = "start"
	}
	l.Labels = append(l.Labels, label{X: x, Y: l.Y - 4, Anchor: anchor, Text: text})
}
