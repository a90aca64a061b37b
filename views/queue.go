package views

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// part names a part of one queue's page. The stream of a browser carries the
// patches of every queue that any of its tabs shows.
func (p QueuePage) part(name string) string { return nameID("queue-"+name, p.View.Queue.Name) }

func (p KindPage) part(name string) string { return nameID("kind-"+name, p.View.Kind.Name) }

// QueueParts are the parts of one queue's page, each with one root that has an
// id: what the page shows, and what a stream sends when it differs.
func QueueParts(p QueuePage) []templ.Component {
	v := p.View
	return []templ.Component{
		queueHead(p),
		unhandledPart(p.part("unhandled"), v.Unhandled, len(v.Unhandled), p.Frame),
		queueFacts(p),
		jobsOf(p.part("running"), "Running", "claimed first, the first 50", v.Holding, p.Frame, "No job of this queue runs."),
		jobsOf(p.part("next"), "Next", "in the order in which they are claimed, the first 20", v.Next, p.Frame, "No job waits to be claimed."),
		kindsTable(p.part("kinds"), v.Kinds, span{v.Since, v.Now, v.Cut}, p.Frame),
		workersTable(p.part("workers"), "Workers of this queue", v.Workers, p.Frame, "No live worker works this queue."),
		changesPart(p.part("changes"), v.Changes, p.Frame),
	}
}

// KindParts are the parts of one kind's page.
func KindParts(p KindPage) []templ.Component {
	v := p.View
	return []templ.Component{
		kindHead(p),
		unhandledPart(p.part("unhandled"), v.Unhandled, len(v.Unhandled), p.Frame),
		kindFacts(p),
		workersTable(p.part("workers"), "Workers that handle it", v.Workers, p.Frame, "No live worker handles this kind."),
		changesPart(p.part("changes"), v.Changes, p.Frame),
	}
}

// short names the span in the place of a label.
func (s span) short() string {
	return "Last " + Span(s.now.Sub(s.since).Round(time.Second))
}

// recentText counts what happened of late.
func recentText(r store.Counts) string {
	var parts []string
	for _, n := range []struct {
		n    int64
		word string
	}{{r.Claimed, "claimed"}, {r.Completed, "completed"}, {r.Failed, "failed"}, {r.Expired, "expired"}, {r.Refused, "refused"}} {
		if n.n > 0 {
			parts = append(parts, Grouped(n.n)+" "+n.word)
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// queueStory says what is going on with a queue.
func queueStory(v store.QueueView) []Phrase {
	var t tale
	q := v.Queue
	paused := q.Control.PausedAt(v.Now) || v.All.PausedAt(v.Now)
	switch {
	case !v.Known:
		t.say("Nothing is known of a queue of this name: it holds no job, no worker works it, and nothing was set for it.")
		return t.phrases
	case paused && q.Running > 0:
		t.say("It is paused and drains: ", Plural(q.Running, "job"), plain(q.Running, " still runs", " still run"), ", and none is claimed. ")
	case paused:
		t.say("It is paused and drained: none of its jobs runs, and none is claimed. ")
	case q.Running > 0:
		t.say(Plural(q.Running, "job"), plain(q.Running, " runs. ", " run. "))
	}
	switch {
	case q.Waiting.N == 0:
		t.say("No job waits to be claimed.")
	case paused:
		t.say(CountText(q.Waiting), plain(q.Waiting.N, " job waits.", " jobs wait."))
	case q.Workers == 0:
		t.say(CountText(q.Waiting), plain(q.Waiting.N, " job waits and ", " jobs wait and "), Phrase{Text: "no live worker works this queue", Tone: ToneBad}, ".")
	default:
		t.say(CountText(q.Waiting), plain(q.Waiting.N, " job waits", " jobs wait"), " for ", Plural(int64(q.Workers), "live worker"), " with ", Plural(int64(q.Slots), "place"), ".")
		if c := q.Control.Limits.Concurrency; c > 0 && q.Running >= int64(c) {
			t.say(" Its limit of ", decimal(int64(c)), " at once is taken up.")
		}
	}
	t.failed(q.Recent, span{v.Since, v.Now, v.Cut}, "queue:"+search.Quote(q.Name))
	return t.phrases
}

// failed says how many attempts failed of late, and leads to the jobs that still
// bear it.
func (t *tale) failed(r store.Recent, s span, within string) {
	if r.Failed == 0 {
		return
	}
	t.say(" ", Phrase{Text: Plural(r.Failed, "attempt") + " failed", Tone: ToneBad}, " in the last ", looksBack(s.now.Sub(s.since).Round(time.Second)), ", and ", Grouped(r.Completed), " completed: ",
		Phrase{Text: "jobs that failed", Search: within + " state:retryable,discarded"}, ".")
}

// kindStory says what is going on with a kind.
func kindStory(v store.KindView) []Phrase {
	var t tale
	k := v.Kind
	switch {
	case !v.Known:
		t.say("Nothing is known of a kind of this name: no job of it runs or waits in front, no live worker handles it, and nothing was set for it.")
	case k.Workers == 0 && len(v.Workers) > 0:
		t.say("The workers that handle it are ", Phrase{Text: "drained", Tone: ToneBad}, ": none of its jobs is claimed.")
	case k.Workers == 0:
		t.say(Phrase{Text: "No live worker handles this kind", Tone: ToneBad}, ": none of its jobs is claimed.")
	default:
		t.say(Plural(int64(k.Workers), "live worker"), plain(int64(k.Workers), " handles it. ", " handle it. "), Grouped(k.Running), plain(k.Running, " job runs.", " jobs run."))
	}
	t.failed(k.Recent, span{v.Since, v.Now, v.Cut}, "kind:"+search.Quote(k.Name))
	return t.phrases
}
