package views

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
)

// timeT lets templates name the type without importing its package.
type timeT = time.Time

// QueuesPage is the page of all queues and kinds.
type QueuesPage struct {
	Frame
	View store.Queues
}

// QueuePage is one queue's page.
type QueuePage struct {
	Frame
	View store.QueueView
}

// KindPage is one kind's page.
type KindPage struct {
	Frame
	View store.KindView
}

// span is the time that figures reach back.
type span struct {
	since, now time.Time
	cut        bool
}

// text names the span; where the newest is not counted yet, it says so.
func (s span) text() string {
	text := "figures of the last " + looksBack(s.now.Sub(s.since).Round(time.Second))
	if s.cut {
		text += ", without the newest, which is not counted yet"
	}
	return text
}

// looksBack writes a time in whole minutes as "15 minutes", any other as a span.
func looksBack(d time.Duration) string {
	if d > 0 && d < time.Hour && d%time.Minute == 0 {
		return Plural(int64(d/time.Minute), "minute")
	}
	return Span(d)
}

// nameID makes an id for an element from a user's text, which an id could not
// hold as it is.
func nameID(prefix, name string) string {
	sum := sha256.Sum256([]byte(name))
	return prefix + "-" + hex.EncodeToString(sum[:8])
}

// behindAfter is how long a job may wait before its queue is called behind.
const behindAfter = time.Minute

// waitsLong reports whether a queue's oldest job waits for longer than it
// should, though nothing is paused.
func waitsLong(q store.Queue, all store.Control, now time.Time) bool {
	return !q.Oldest.IsZero() && now.Sub(q.Oldest) > behindAfter && !q.Control.PausedAt(now) && !all.PausedAt(now)
}

// placesText is what stands behind the number of running jobs: the limit, or
// else the places of live workers.
func placesText(q store.Queue) string {
	most := int64(q.Slots)
	if c := int64(q.Control.Limits.Concurrency); c > 0 && c < most {
		most = c
	}
	return " / " + Grouped(most)
}

// startText is how long 95 of 100 claims took to come.
func startText(r store.Recent) string {
	if r.Starts == 0 {
		return "–"
	}
	return Span(r.Start95)
}

// rateText writes a number a minute with as many digits as it deserves.
func rateText(perMinute float64) string {
	switch {
	case perMinute == 0:
		return "0"
	case perMinute < 10:
		return strconv.FormatFloat(perMinute, 'f', 1, 64)
	}
	return Grouped(int64(perMinute + 0.5))
}

// sparkPoints draws a series into a box of 120 by 18.
func sparkPoints(series []int64) string {
	most := int64(1)
	for _, n := range series {
		most = max(most, n)
	}
	points := make([]string, len(series))
	for i, n := range series {
		points[i] = fmt.Sprintf("%.1f,%.1f", 120*float64(i)/float64(len(series)-1), 16.5-15*float64(n)/float64(most))
	}
	return strings.Join(points, " ")
}

// LimitText writes a rate: 100 a minute, 5 in 10 s.
func LimitText(r store.Rate) string {
	switch r.Per {
	case time.Second:
		return Grouped(int64(r.N)) + " a second"
	case time.Minute:
		return Grouped(int64(r.N)) + " a minute"
	case time.Hour:
		return Grouped(int64(r.N)) + " an hour"
	case 24 * time.Hour:
		return Grouped(int64(r.N)) + " a day"
	}
	return Grouped(int64(r.N)) + " in " + Span(r.Per)
}

// unhandledText says why nobody takes some work.
func unhandledText(u store.Unhandled) string {
	switch {
	case u.NoQueue:
		return "no live worker works this queue"
	case u.Draining:
		return "the workers that handle this kind are drained"
	}
	return "no live worker handles this kind here"
}

func waitingInFront(n int64) string {
	if n == 1 {
		return "1 job waits in front"
	}
	return Grouped(n) + " jobs wait in front"
}

// queuesStory says what the page of all queues amounts to.
func queuesStory(v store.Queues) []Phrase {
	var t tale
	var waiting, running int64
	more, paused, behind := "", 0, 0
	for _, q := range v.Queues {
		waiting += q.Waiting.N
		running += q.Running
		if q.Waiting.Capped {
			more = "+"
		}
		if q.Control.PausedAt(v.Now) {
			paused++
		}
		if waitsLong(q, v.All, v.Now) {
			behind++
		}
	}
	t.say(Grouped(waiting), more, plain(waiting, " job waits, ", " jobs wait, "), Grouped(running), plain(running, " runs", " run"),
		" on ", Plural(int64(v.Workers), "live worker"), ".")
	if paused > 0 {
		t.say(" ", Plural(int64(paused), "queue"), plain(int64(paused), " is", " are"), " paused.")
	}
	if behind > 0 {
		t.say(" In ", Phrase{Text: Plural(int64(behind), "queue"), Tone: ToneRetry}, " the oldest job waits for more than a minute.")
	}
	if v.Workers == 0 {
		t.say(" ", Phrase{Text: "No worker is alive: nothing will be claimed.", Tone: ToneBad})
	}
	return t.phrases
}

// QueuesParts are what a stream sends of the page of all queues.
func QueuesParts(p QueuesPage) []templ.Component {
	return []templ.Component{
		queuesHead(p), unhandledPart("queues-unhandled", p.View.Unhandled, len(p.View.Unhandled), p.Frame), queuesTable(p),
		kindsTable("kinds", p.View.Kinds, span{p.View.Since, p.View.Now, p.View.Cut}, p.Frame),
	}
}
