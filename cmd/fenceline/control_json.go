package main

import (
	"time"

	"github.com/fenceline/fenceline/store"
)

// What is set, and for whom, as the API shows it.

type controlJSON struct {
	Scope       store.Scope `json:"scope"`
	Name        string      `json:"name"`
	Revision    int64       `json:"revision"`
	Paused      bool        `json:"paused"`
	Pause       *pauseJSON  `json:"pause"`
	Concurrency *int        `json:"concurrency"`
	Rate        *int        `json:"rate"`
	Per         *string     `json:"per"`
}

type pauseJSON struct {
	At     time.Time  `json:"at"`
	Until  *time.Time `json:"until"`
	By     string     `json:"by"`
	Reason string     `json:"reason"`
}

func controlOf(c store.Control, now time.Time) controlJSON {
	out := controlJSON{Scope: c.Scope, Name: c.Name, Revision: c.Revision, Paused: c.PausedAt(now),
		Concurrency: orNull(c.Limits.Concurrency), Rate: orNull(c.Limits.Rate.N)}
	if c.Limits.Rate.Per > 0 {
		out.Per = orNull(c.Limits.Rate.Per.String())
	}
	if !c.Pause.At.IsZero() {
		out.Pause = &pauseJSON{c.Pause.At, orNull(c.Pause.Until), c.Pause.By, c.Pause.Reason}
	}
	return out
}

type countJSON struct {
	Count  int64 `json:"count"`
	Capped bool  `json:"capped"`
}

type queueJSON struct {
	Name        string      `json:"name"`
	Control     controlJSON `json:"control"`
	Waiting     countJSON   `json:"waiting"`
	OldestSince *time.Time  `json:"oldest_since"`
	Later       int64       `json:"later"`
	Running     int64       `json:"running"`
	Workers     int         `json:"workers"`
	Slots       int         `json:"slots"`
}

type kindJSON struct {
	Name           string      `json:"name"`
	Control        controlJSON `json:"control"`
	WaitingInFront int64       `json:"waiting_in_front"`
	Running        int64       `json:"running"`
	Workers        int         `json:"workers"`
}

type unhandledJSON struct {
	Queue       string    `json:"queue"`
	Kind        string    `json:"kind"`
	Jobs        int64     `json:"jobs"`
	OldestSince time.Time `json:"oldest_since"`
}

type queuesJSON struct {
	Now       time.Time       `json:"now"`
	All       controlJSON     `json:"all"`
	Queues    []queueJSON     `json:"queues"`
	Kinds     []kindJSON      `json:"kinds"`
	More      bool            `json:"more"`
	Unhandled []unhandledJSON `json:"unhandled"`
}

func queuesOf(v store.Queues) queuesJSON {
	out := queuesJSON{Now: v.Now, All: controlOf(v.All, v.Now), More: v.More, Queues: []queueJSON{}, Kinds: []kindJSON{}, Unhandled: []unhandledJSON{}}
	for _, q := range v.Queues {
		out.Queues = append(out.Queues, queueJSON{q.Name, controlOf(q.Control, v.Now), countJSON{q.Waiting.N, q.Waiting.Capped}, orNull(q.Oldest), q.Later, q.Running, q.Workers, q.Slots})
	}
	for _, k := range v.Kinds {
		out.Kinds = append(out.Kinds, kindJSON{k.Name, controlOf(k.Control, v.Now), k.Waiting, k.Running, k.Workers})
	}
	for _, u := range v.Unhandled {
		out.Unhandled = append(out.Unhandled, unhandledJSON{u.Queue, u.Kind, u.Jobs, u.Oldest})
	}
	return out
}

type workerJSON struct {
	ID         string             `json:"id"`
	Status     store.WorkerStatus `json:"status"`
	Control    controlJSON        `json:"control"`
	Host       string             `json:"host"`
	PID        int                `json:"pid"`
	Program    string             `json:"program"`
	Version    string             `json:"version"`
	Queues     map[string]int     `json:"queues"`
	StartedAt  time.Time          `json:"started_at"`
	SeenAt     time.Time          `json:"seen_at"`
	StoppedAt  *time.Time         `json:"stopped_at"`
	StoppedHow *string            `json:"stopped_how"`
	Held       int64              `json:"held"`
	Claimed    int64              `json:"claimed"`
	Completed  int64              `json:"completed"`
}

type workersJSON struct {
	Now     time.Time    `json:"now"`
	Workers []workerJSON `json:"workers"`
	More    bool         `json:"more"`
}

func workersOf(v store.Workers) workersJSON {
	out := workersJSON{Now: v.Now, Workers: []workerJSON{}, More: v.More}
	for _, w := range v.Workers {
		out.Workers = append(out.Workers, workerJSON{w.ID, w.Status, controlOf(w.Control, v.Now), w.Host, w.PID, w.Program, w.Version, w.Queues,
			w.StartedAt, w.SeenAt, orNull(w.StoppedAt), orNull(w.StoppedHow), w.Held, w.Counts.Claimed, w.Counts.Completed})
	}
	return out
}
