package views

import (
	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
)

// WorkersPage is the page of all workers.
type WorkersPage struct {
	Frame
	View store.Workers
}

// WorkerPage is one worker's page.
type WorkerPage struct {
	Frame
	View store.WorkerView
}

func (p WorkerPage) part(name string) string { return nameID("worker-"+name, p.View.Worker.ID) }

// WorkersParts are the parts of the page of all workers.
func WorkersParts(p WorkersPage) []templ.Component {
	return []templ.Component{
		workersHead(p), strangeHolders(p),
		workersTable("workers-table", "Live and lost ones, then those that ended", p.View.Workers, p.Frame,
			"No worker has said that it lives. Start one with fenceline worker, or a pool in a program of yours."),
	}
}

// WorkerParts are the parts of one worker's page.
func WorkerParts(p WorkerPage) []templ.Component {
	v := p.View
	return []templ.Component{
		workerHead(p), workerFacts(p),
		jobsOf(p.part("holding"), "Holds now", "claimed first, at most 200", v.Holding, p.Frame, "It holds no job."),
		workerLog(p.part("lost"), "Lost and refused", "leases of its that expired, writes of its that were refused, newest first", v.Lost, p.Frame,
			"No lease of its expired and no write of its was refused among the newest 10,000 such."),
		workerLog(p.part("recent"), "Did last", "of the newest "+Grouped(int64(v.Searched))+" transitions, renewals left out", v.Recent, p.Frame,
			"It did nothing among the newest "+Grouped(int64(v.Searched))+" transitions."),
		changesPart(p.part("changes"), v.Changes, p.Frame),
	}
}

func workerTone(s store.WorkerStatus) Tone {
	switch s {
	case store.WorkerLive:
		return ToneOK
	case store.WorkerLost:
		return ToneBad
	case store.WorkerDraining:
		return ToneRetry
	}
	return ToneWait
}

func workerIcon(s store.WorkerStatus) string {
	switch s {
	case store.WorkerLive:
		return string(store.Running)
	case store.WorkerLost:
		return "alarm"
	case store.WorkerStopped:
		return string(store.Terminated)
	}
	return "paused"
}

func workerStatusText(w store.Worker) string {
	if w.Status == store.WorkerStopped && w.StoppedHow == store.StoppedLeft {
		return "stopped, left claims"
	}
	if w.Status == store.WorkerStopped && w.StoppedHow == store.StoppedCutOff {
		return "cut off"
	}
	return string(w.Status)
}

// workersStory says what the list amounts to.
func workersStory(v store.Workers) []Phrase {
	var t tale
	count := map[store.WorkerStatus]int64{}
	var held, lost int64
	for _, w := range v.Workers {
		count[w.Status]++
		held += w.Held
		if w.Status == store.WorkerLost {
			lost += w.Held
		}
	}
	if count[store.WorkerLive] == 0 {
		t.say(Phrase{Text: "No worker is alive: nothing will be claimed.", Tone: ToneBad})
	} else {
		t.say(Plural(count[store.WorkerLive], "live worker"), ".")
	}
	t.say(" Those on the list hold ", Plural(held, "job"), ".")
	if n := count[store.WorkerLost]; n > 0 {
		t.say(" ", Phrase{Text: Plural(n, "worker") + plain(n, " is lost", " are lost"), Tone: ToneBad}, ", with ", Plural(lost, "job"),
			plain(n, " that it holds", " that they hold"), " until the leases end.")
	}
	if n := count[store.WorkerDraining] + count[store.WorkerDrained]; n > 0 {
		t.say(" ", Plural(n, "worker"), plain(n, " is", " are"), " drained and ", plain(n, "claims", "claim"), " no more.")
	}
	return t.phrases
}

// workerStory says how a worker is.
func workerStory(v store.WorkerView) []Phrase {
	var t tale
	w := v.Worker
	holds := Plural(w.Held, "job")
	if !v.Known {
		t.say("It is on no list: it does not say that it lives, or it ended more than a week ago. Its jobs and its transitions tell of it.")
		return t.phrases
	}
	switch w.Status {
	case store.WorkerLive:
		t.say("It lives and holds ", holds, ".")
	case store.WorkerLost:
		t.say(Phrase{Text: "It is lost", Tone: ToneBad}, ": last seen at ", w.SeenAt, ". Its process died, is stopped, or cannot reach the database. ")
		if w.Held > 0 {
			t.say("It still holds ", holds, ": others claim them when the leases end, and what it writes after that is refused.")
		} else {
			t.say("It holds no job any more.")
		}
	case store.WorkerDraining:
		t.say("It drains: it claims no more and finishes the ", holds, plain(w.Held, " that it holds.", " that it holds."))
	case store.WorkerDrained:
		t.say("It is drained: it holds no job and claims none. It can be stopped.")
	case store.WorkerStopped:
		if w.StoppedHow == store.StoppedCutOff {
			t.say("Its database ended while it lived, and is last known to have run at ", w.StoppedAt, ": it could say nothing of its own end. It is there again with its next sign of life.")
			break
		}
		t.say("It ended at ", w.StoppedAt)
		if w.StoppedHow == store.StoppedLeft {
			t.say(" and left claims behind, which expire by themselves.")
		} else {
			t.say(" and left nothing behind.")
		}
	}
	return t.phrases
}

// countsText says what a worker did since it began.
func countsText(n store.WorkerCounts) string {
	return recentText(store.Counts{Claimed: n.Claimed, Completed: n.Completed, Failed: n.Failed, Refused: n.Refused})
}
