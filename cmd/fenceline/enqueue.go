package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

type enqueueCmd struct {
	database
	Kind string `arg:"" optional:"" help:"What sort of work the job is."`

	Args        string   `name:"args" placeholder:"JSON|@FILE|-" help:"What the job is given: JSON, or @FILE to read it from, or - for standard input. The default is {}."`
	Key         string   `name:"key" help:"Makes repeats converge: the same request with the same key of the same kind is stored once."`
	Queue       string   `name:"queue" help:"Where the job waits. The default is the queue default."`
	Priority    priority `name:"priority" placeholder:"N" help:"Lower goes first. The default is 0."`
	RunAt       string   `name:"run-at" placeholder:"TIME|+DELAY" help:"When it is due: a time such as 2030-01-31T08:00:00Z, or a delay such as +5m on the database's clock."`
	MaxAttempts int      `name:"max-attempts" placeholder:"N" help:"The retry budget. The default is 10."`
	Tags        []string `name:"tag" sep:"none" help:"A word to find the job by. May be repeated."`

	Traceparent string `name:"traceparent" help:"The W3C traceparent of what makes the job necessary; the spans of its attempts continue it."`

	NDJSON bool `name:"ndjson" help:"Read jobs from standard input, one JSON object a line, with the fields kind, args, key, queue, priority, run_at, max_attempts and tags."`
	Atomic bool `name:"atomic" help:"With --ndjson: store every line or, when one is bad, none. At most 50000 lines."`
}

// Help describes what the flags leave open.
func (enqueueCmd) Help() string {
	return `With --ndjson, lines are stored in the order in which they stand, in transactions of some thousands. The first bad line ends the run: every line before it is stored, it and everything behind it are not, and the error names its number and field. With --atomic nothing is stored then.`
}

// Run stores one job, or those on standard input.
func (c *enqueueCmd) Run(ctx context.Context, a *app) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	var args json.RawMessage
	if !c.NDJSON {
		if args, err = readArgs(a, c.Args); err != nil {
			return err
		}
	}
	return c.with(ctx, a, func(st *store.Store) error {
		if c.NDJSON {
			return enqueueLines(ctx, a, st, c.Atomic)
		}
		return c.one(ctx, a, st, args)
	})
}

func (c *enqueueCmd) check() error {
	switch {
	case c.NDJSON && (c.Kind != "" || c.Args != "" || c.Key != "" || c.Queue != "" || c.Priority != 0 ||
		c.RunAt != "" || c.MaxAttempts != 0 || len(c.Tags) > 0 || c.Traceparent != ""):
		return usagef("--ndjson: every line says its own kind and fields; give no other flags of a job")
	case c.NDJSON:
		return nil
	case c.Atomic:
		return usagef("--atomic: is for --ndjson only; one job is always stored whole or not at all")
	case c.Kind == "":
		return usagef("KIND: is required, as in `fenceline enqueue report`, or --ndjson to read jobs from standard input")
	case c.Traceparent != "" && !store.ValidTrace(c.Traceparent):
		return usagef("--traceparent: %q is not a W3C traceparent of version 00", c.Traceparent)
	case c.MaxAttempts < 0:
		return usagef("--max-attempts: must be between 1 and %d", store.MaxAttempts)
	}
	return nil
}

// readArgs reads --args, or what it points to.
func readArgs(a *app, args string) (json.RawMessage, error) {
	var in io.Reader
	switch {
	case args == "-":
		in = a.in
	case strings.HasPrefix(args, "@"):
		f, err := os.Open(args[1:])
		if err != nil {
			return nil, usagef("--args: %w", err)
		}
		defer f.Close()
		in = f
	default:
		return json.RawMessage(args), nil
	}
	// One byte over the limit is enough to be refused by it.
	raw, err := io.ReadAll(io.LimitReader(in, store.MaxArgs+1))
	if err != nil {
		return nil, fmt.Errorf("--args: %w", err)
	}
	if len(raw) == 0 {
		return nil, usagef("--args: %s is empty; write null for nothing", orElse(strings.TrimPrefix(args, "@"), args))
	}
	return raw, nil
}

func (c *enqueueCmd) one(ctx context.Context, a *app, st *store.Store, args json.RawMessage) error {
	at, err := runAt(ctx, st, c.RunAt)
	if err != nil {
		return usagef("--run-at: %w", err)
	}
	done, err := st.Enqueue(ctx, store.Request{
		Kind: c.Kind, Args: args, Key: c.Key, Queue: c.Queue, Priority: int16(c.Priority), RunAt: at,
		MaxAttempts: c.MaxAttempts, Tags: c.Tags, Trace: c.Traceparent, Actor: actor(),
	})
	if err != nil {
		return named(err)
	}
	j, err := st.Job(ctx, done.ID)
	if err != nil {
		return fmt.Errorf("job %d is stored, but could not be read back: %w", done.ID, err)
	}
	if a.json {
		return a.printJSON(enqueuedJSON{wire.JobOf(j), done.Existing})
	}
	if done.Existing {
		return a.printf("Job %d already exists: the same request was made before. It is %s now.\n", j.ID, j.State)
	}
	return a.printf("Job %d is %s in queue %s.\n", j.ID, j.State, oneLine(j.Queue))
}
