package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// queuesCmd holds the verbs that look at queues and kinds and set things for
// them.
type queuesCmd struct {
	List   queuesListCmd   `cmd:"" help:"List queues and kinds: what waits, what runs, and what is set."`
	Pause  queuesPauseCmd  `cmd:"" help:"Keep jobs of a queue, of a kind, or all jobs from being claimed."`
	Resume queuesResumeCmd `cmd:"" help:"End a pause. Limits stay."`
	Limit  queuesLimitCmd  `cmd:"" help:"Limit a queue or a kind over all processes. What is not given is not limited."`
}

// workersCmd holds the verbs about workers.
type workersCmd struct {
	List   workersListCmd   `cmd:"" help:"List who works, and what each holds."`
	Drain  workersDrainCmd  `cmd:"" help:"Keep one worker from claiming more. What it holds it finishes."`
	Resume workersResumeCmd `cmd:"" help:"Let a drained worker claim again."`
}

type queuesListCmd struct {
	database
	At string `name:"at" placeholder:"TIME" help:"What the queues looked like in a minute that is over, as 2026-01-31T03:12 in UTC, or 03:12 for the last one."`
}

// Run prints all queues and kinds.
func (c *queuesListCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		if c.At != "" {
			return printPast(ctx, a, st, c.At)
		}
		v, err := st.Queues(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(wire.QueuesOf(v))
		}
		return printQueues(a, v)
	})
}

func printQueues(a *app, v store.Queues) error {
	if v.All.PausedAt(v.Now) {
		fmt.Fprintf(a.out, "Everything is paused by %s: %s\n\n", oneLine(v.All.Pause.By), oneLine(v.All.Pause.Reason))
	}
	for _, u := range v.Unhandled {
		fmt.Fprintf(a.out, "No live worker claims kind %s in queue %s: %d jobs wait since %s.\n", oneLine(u.Kind), oneLine(u.Queue), u.Jobs, timeText(u.Oldest))
	}
	rows := make([][]string, 0, len(v.Queues)+len(v.Kinds))
	for _, q := range v.Queues {
		waiting := decimal(q.Waiting.N)
		if q.Waiting.Capped {
			waiting += "+"
		}
		rows = append(rows, []string{"queue", q.Name, waiting, timeText(q.Oldest), decimal(q.Running), decimal(int64(q.Workers)), setText(q.Control, v.Now), decimal(q.Control.Revision)})
	}
	for _, k := range v.Kinds {
		rows = append(rows, []string{"kind", k.Name, "", "", decimal(k.Running), decimal(int64(k.Workers)), setText(k.Control, v.Now), decimal(k.Control.Revision)})
	}
	if len(rows) == 0 {
		return a.printf("No queue holds a job, has a worker or is set in any way.\n")
	}
	return printTable(a.out, []string{"WHAT", "NAME", "WAITING", "OLDEST SINCE", "RUNNING", "WORKERS", "SET", "REVISION"}, rows)
}

// setText says what is set, in a few words.
func setText(c store.Control, now time.Time) string {
	var out []string
	if c.PausedAt(now) {
		word := "paused"
		if c.Scope == store.ScopeWorker {
			word = "drained"
		}
		if !c.Pause.Until.IsZero() {
			word += " until " + timeText(c.Pause.Until)
		}
		out = append(out, fmt.Sprintf("%s by %s (%s)", word, c.Pause.By, c.Pause.Reason))
	}
	if n := c.Limits.Concurrency; n > 0 {
		out = append(out, fmt.Sprintf("at most %d at once", n))
	}
	if r := c.Limits.Rate; r.N > 0 {
		out = append(out, fmt.Sprintf("at most %d each %s", r.N, r.Per))
	}
	return strings.Join(out, ", ")
}

type workersListCmd struct{ database }

// Run prints all workers.
func (c *workersListCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		v, err := st.Workers(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(wire.WorkersOf(v))
		}
		if len(v.Workers) == 0 {
			return a.printf("No worker is known.\n")
		}
		rows := make([][]string, len(v.Workers))
		for i, w := range v.Workers {
			rows[i] = []string{w.ID, string(w.Status), decimal(w.Held), fmt.Sprintf("%d/%d", w.Counts.Completed, w.Counts.Claimed), w.Version, timeText(w.SeenAt),
				setText(w.Control, v.Now), decimal(w.Control.Revision)}
		}
		return printTable(a.out, []string{"ID", "STATUS", "HOLDS", "COMPLETED", "VERSION", "SEEN", "SET", "REVISION"}, rows)
	})
}

// changeControl is a change of what is set, bound to what was seen.
type changeControl struct {
	database
	Reason string `name:"reason" placeholder:"TEXT" help:"Why. It is kept in the audit."`
	Seen   *int64 `name:"seen" placeholder:"REVISION" help:"The revision that you looked at, 0 where nothing was set: what has changed since is left alone. Without it what is there is read first and changed only if it does not change in between."`
}

// onQueues says what of queues and kinds a change is about.
type onQueues struct {
	Queue string `name:"queue" placeholder:"NAME" help:"This queue."`
	Kind  string `name:"kind" placeholder:"NAME" help:"This kind, in whatever queue."`
}

func (q onQueues) target(all bool) (scope store.Scope, name string, err error) {
	given := 0
	for _, is := range []bool{q.Queue != "", q.Kind != "", all} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return "", "", usagef("one of --queue, --kind and, for a pause, --all is required, and only one")
	case all:
		return store.ScopeAll, "", nil
	case q.Queue != "":
		return store.ScopeQueue, q.Queue, nil
	}
	return store.ScopeKind, q.Kind, nil
}

type queuesPauseCmd struct {
	changeControl
	onQueues
	All bool          `name:"all" help:"Everything."`
	For time.Duration `name:"for" placeholder:"TIME" help:"How long, as 15m or 4h; without it until somebody resumes it."`
}

// Run pauses.
func (c *queuesPauseCmd) Run(ctx context.Context, a *app) error {
	if c.For < 0 {
		return usagef("--for: must not be negative")
	}
	return c.on(ctx, a, c.onQueues, c.All, func(st *store.Store, p store.ControlParams) (store.Control, error) {
		return st.Pause(ctx, p, store.PauseEnd{For: c.For})
	})
}

type queuesResumeCmd struct {
	changeControl
	onQueues
	All bool `name:"all" help:"Everything."`
}

// Run resumes.
func (c *queuesResumeCmd) Run(ctx context.Context, a *app) error {
	return c.on(ctx, a, c.onQueues, c.All, func(st *store.Store, p store.ControlParams) (store.Control, error) { return st.Resume(ctx, p) })
}

type queuesLimitCmd struct {
	changeControl
	onQueues
	Concurrency int           `name:"concurrency" placeholder:"N" help:"At most so many running at once."`
	Rate        int           `name:"rate" placeholder:"N" help:"At most so many claimed in each --per."`
	Per         time.Duration `name:"per" default:"1m" help:"The time of the rate, 1s to 24h."`
}

// Run limits.
func (c *queuesLimitCmd) Run(ctx context.Context, a *app) error {
	l := store.Limits{Concurrency: c.Concurrency, Rate: store.Rate{N: c.Rate}}
	if c.Rate != 0 {
		l.Rate.Per = c.Per
	}
	return c.on(ctx, a, c.onQueues, false, func(st *store.Store, p store.ControlParams) (store.Control, error) { return st.Limit(ctx, p, l) })
}

type workersDrainCmd struct {
	changeControl
	ID string `arg:"" help:"The worker's id."`
}

// Run drains.
func (c *workersDrainCmd) Run(ctx context.Context, a *app) error {
	return c.set(ctx, a, store.ScopeWorker, c.ID, func(st *store.Store, p store.ControlParams) (store.Control, error) { return st.Drain(ctx, p) })
}

type workersResumeCmd struct {
	changeControl
	ID string `arg:"" help:"The worker's id."`
}

// Run lets it claim again.
func (c *workersResumeCmd) Run(ctx context.Context, a *app) error {
	return c.set(ctx, a, store.ScopeWorker, c.ID, func(st *store.Store, p store.ControlParams) (store.Control, error) { return st.Resume(ctx, p) })
}

type controlChange func(*store.Store, store.ControlParams) (store.Control, error)

func (c *changeControl) on(ctx context.Context, a *app, q onQueues, all bool, do controlChange) error {
	scope, name, err := q.target(all)
	if err != nil {
		return err
	}
	return c.set(ctx, a, scope, name, do)
}

func (c *changeControl) set(ctx context.Context, a *app, scope store.Scope, name string, do controlChange) error {
	if c.Reason == "" {
		return usagef("--reason: is required; say why, for those who read the audit later")
	}
	if c.Seen != nil && *c.Seen < 0 {
		return usagef("--seen: must be the revision that the list printed")
	}
	return c.with(ctx, a, func(st *store.Store) error {
		p := store.ControlParams{Scope: scope, Name: name, Seen: c.Seen, Actor: actor(), Reason: c.Reason}
		if p.Seen == nil {
			now, err := st.Control(ctx, scope, name)
			if err != nil {
				return named(err)
			}
			p.Seen = &now.Revision
		}
		set, err := do(st, p)
		var conflict *store.ControlConflictError
		switch {
		case errors.As(err, &conflict) && a.json:
			return a.printRefused(conflict, conflict.Why, "", "control", wire.ControlOf(conflict.Control, conflict.At))
		case errors.Is(err, store.ErrNoWorker):
			return fmt.Errorf("there is no worker %s, or no longer", oneLine(name))
		case err != nil:
			return named(err)
		}
		now, err := st.Clock(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(wire.ControlOf(set, now))
		}
		what := setText(set, now)
		if what == "" {
			what = "nothing is set"
		}
		return a.printf("%s: %s (revision %d).\n", oneLine(set.Title()), oneLine(what), set.Revision)
	})
}
