package wire

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// Count is a number that is counted up to a limit.
type Count struct {
	N      int64 `json:"count"`
	Capped bool  `json:"capped"` // there are more than count
}

// Recent is what happened of late, by the log. The times to the start are of
// claims; null where there was none.
type Recent struct {
	Claimed            int64    `json:"claimed"`
	Completed          int64    `json:"completed"`
	Failed             int64    `json:"failed"`
	Expired            int64    `json:"expired"`
	Refused            int64    `json:"refused"`
	CompletedPerMinute float64  `json:"completed_per_minute"`
	StartP50           *float64 `json:"start_p50_seconds"`
	StartP95           *float64 `json:"start_p95_seconds"`
	Starts             int64    `json:"starts"`
}

func recentOf(r store.Recent, since, now time.Time) Recent {
	out := Recent{
		Claimed: r.Claimed, Completed: r.Completed, Failed: r.Failed, Expired: r.Expired, Refused: r.Refused,
		CompletedPerMinute: r.PerMinute(since, now), Starts: r.Starts,
	}
	if r.Starts > 0 {
		half, most := r.Start50.Seconds(), r.Start95.Seconds()
		out.StartP50, out.StartP95 = &half, &most
	}
	return out
}

// Queue is what waits and runs in a queue, and what is set for it.
type Queue struct {
	Name        string  `json:"name"`
	Control     Control `json:"control"`
	Waiting     Count   `json:"waiting"`
	OldestSince *string `json:"oldest_since"`
	Later       int64   `json:"later"`
	Running     int64   `json:"running"`
	Draining    bool    `json:"draining"` // paused while jobs of it run
	Workers     int     `json:"workers"`
	Slots       int     `json:"slots"`
	Recent      Recent  `json:"recent"`
}

func queueOf(q store.Queue, since, now time.Time) Queue {
	return Queue{
		Name: q.Name, Control: ControlOf(q.Control, now), Waiting: Count(q.Waiting),
		OldestSince: InstantOrNull(q.Oldest), Later: q.Later, Running: q.Running, Draining: q.Control.PausedAt(now) && q.Running > 0,
		Workers: q.Workers, Slots: q.Slots, Recent: recentOf(q.Recent, since, now),
	}
}

// Kind is what waits at the front of the queues, and runs, of a kind.
type Kind struct {
	Name           string  `json:"name"`
	Control        Control `json:"control"`
	WaitingInFront int64   `json:"waiting_in_front"`
	Running        int64   `json:"running"`
	Workers        int     `json:"workers"`
	Recent         Recent  `json:"recent"`
}

func kindOf(k store.Kind, since, now time.Time) Kind {
	return Kind{Name: k.Name, Control: ControlOf(k.Control, now), WaitingInFront: k.Waiting, Running: k.Running, Workers: k.Workers,
		Recent: recentOf(k.Recent, since, now)}
}

func kindsOf(all []store.Kind, since, now time.Time) []Kind {
	out := []Kind{}
	for _, k := range all {
		out = append(out, kindOf(k, since, now))
	}
	return out
}

// Unhandled are jobs at the front of a queue that no worker would claim.
type Unhandled struct {
	Queue       string `json:"queue"`
	Kind        string `json:"kind"`
	Jobs        int64  `json:"jobs"`
	OldestSince string `json:"oldest_since"`
	Why         string `json:"why"` // no_queue, no_kind or drained
}

func unhandledOf(all []store.Unhandled) []Unhandled {
	out := []Unhandled{}
	for _, u := range all {
		why := "no_kind"
		switch {
		case u.NoQueue:
			why = "no_queue"
		case u.Draining:
			why = "drained"
		}
		out = append(out, Unhandled{u.Queue, u.Kind, u.Jobs, Instant(u.Oldest), why})
	}
	return out
}

// Queues are all queues and kinds.
type Queues struct {
	Now       string      `json:"now"`
	Since     string      `json:"since"` // how far back the recent figures reach
	Cut       bool        `json:"cut"`   // less far than asked for, because the log is busy
	All       Control     `json:"all"`
	Queues    []Queue     `json:"queues"`
	Kinds     []Kind      `json:"kinds"`
	More      bool        `json:"more"`
	Unhandled []Unhandled `json:"unhandled"`
}

// QueuesOf shows all queues and kinds.
func QueuesOf(v store.Queues) Queues {
	out := Queues{Now: Instant(v.Now), Since: Instant(v.Since), Cut: v.Cut, All: ControlOf(v.All, v.Now), More: v.More,
		Queues: []Queue{}, Kinds: kindsOf(v.Kinds, v.Since, v.Now), Unhandled: unhandledOf(v.Unhandled)}
	for _, q := range v.Queues {
		out.Queues = append(out.Queues, queueOf(q, v.Since, v.Now))
	}
	return out
}
