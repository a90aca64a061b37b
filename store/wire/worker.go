package wire

import (
	"slices"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Worker is a worker as it reported, and what the log counts of it.
type Worker struct {
	ID         string         `json:"id"`
	Status     string         `json:"status"`
	Control    Control        `json:"control"`
	Host       string         `json:"host"`
	PID        int            `json:"pid"`
	Program    string         `json:"program"`
	Version    string         `json:"version"`
	Queues     map[string]int `json:"queues"` // places by name
	Kinds      []string       `json:"kinds"`
	StartedAt  string         `json:"started_at"`
	SeenAt     string         `json:"seen_at"`
	StoppedAt  *string        `json:"stopped_at"`
	StoppedHow *string        `json:"stopped_how"`
	Held       int64          `json:"held"`
	Claimed    int64          `json:"claimed"`
	Completed  int64          `json:"completed"`
	Failed     int64          `json:"failed"`
	Released   int64          `json:"released"`
	Refused    int64          `json:"refused"`
	Lost       int64          `json:"lost"`
}

func workerOf(w store.Worker, now time.Time) Worker {
	kinds := []string{}
	for name := range w.Kinds {
		kinds = append(kinds, name)
	}
	slices.Sort(kinds)
	n := w.Counts
	return Worker{ID: w.ID, Status: string(w.Status), Control: ControlOf(w.Control, now), Host: w.Host, PID: w.PID, Program: w.Program, Version: w.Version,
		Queues: w.Queues, Kinds: kinds, StartedAt: Instant(w.StartedAt), SeenAt: Instant(w.SeenAt), StoppedAt: InstantOrNull(w.StoppedAt),
		StoppedHow: OrNull(w.StoppedHow), Held: w.Held,
		Claimed: n.Claimed, Completed: n.Completed, Failed: n.Failed, Released: n.Released, Refused: n.Refused, Lost: n.Lost}
}

func workersIn(all []store.Worker, now time.Time) []Worker {
	out := []Worker{}
	for _, w := range all {
		out = append(out, workerOf(w, now))
	}
	return out
}

// Holder is who holds jobs without being on the list of workers.
type Holder struct {
	ID   string `json:"id"`
	Held int64  `json:"held"`
}

// Workers are all workers that are known.
type Workers struct {
	Now     string   `json:"now"`
	Workers []Worker `json:"workers"`
	More    bool     `json:"more"`
	Strange []Holder `json:"strange"` // running jobs whose worker is on no list
}

// WorkersOf shows all workers.
func WorkersOf(v store.Workers) Workers {
	out := Workers{Now: Instant(v.Now), Workers: workersIn(v.Workers, v.Now), More: v.More, Strange: []Holder{}}
	for _, h := range v.Strange {
		out.Strange = append(out.Strange, Holder(h))
	}
	return out
}

// WorkerView is all that is told of one worker.
type WorkerView struct {
	Now     string          `json:"now"`
	Known   bool            `json:"known"` // it is on the list; else only jobs and transitions tell of it
	Worker  *Worker         `json:"worker"`
	Holding []Job           `json:"holding"`
	Lost    []Transition    `json:"lost"`
	Recent  []Transition    `json:"recent"`
	Changes []ControlChange `json:"changes"`
}

// WorkerViewOf shows one worker.
func WorkerViewOf(v store.WorkerView) WorkerView {
	out := WorkerView{Now: Instant(v.Now), Known: v.Known, Holding: JobsOf(v.Holding), Lost: TransitionsOf(v.Lost), Recent: TransitionsOf(v.Recent), Changes: changesOf(v.Changes)}
	if v.Known {
		w := workerOf(v.Worker, v.Now)
		out.Worker = &w
	}
	return out
}
