package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// otherArgs are args that take the place of a job's.
type otherArgs struct {
	Args    *string `name:"args" placeholder:"JSON|@FILE|-" help:"Other args: JSON, or @FILE to read them from, or - for standard input. Those before are kept."`
	Restore *int64  `name:"restore" placeholder:"VERSION" help:"In place of --args: the version, as jobs versions lists it, that is to be the present one again."`
}

func (o *otherArgs) read(a *app) (out store.NewArgs, err error) {
	if o.Restore != nil {
		if *o.Restore < 1 {
			return out, usagef("--restore: must be a version that `fenceline jobs versions` lists")
		}
		out.Restore = *o.Restore
	}
	if o.Args != nil {
		if out.Args, err = readArgs(a, *o.Args); err == nil && out.Args == nil {
			out.Args = json.RawMessage{}
		}
	}
	return out, err
}

// change is what can be changed of a job, or be different of its copy.
type change struct {
	otherArgs
	Priority    *priority `name:"priority" placeholder:"N" help:"Lower goes first."`
	Queue       string    `name:"queue" help:"Where the job waits; not while it runs."`
	RunAt       string    `name:"run-at" placeholder:"TIME|+DELAY" help:"When it is due: a time such as 2030-01-31T08:00:00Z, or a delay such as +5m on the database's clock; +0s for at once. Only while the job waits."`
	MaxAttempts *int      `name:"max-attempts" placeholder:"N" help:"The whole retry budget, used attempts included. It only grows."`
	AddTag      string    `name:"add-tag" placeholder:"TAG" help:"One more word to find the job by."`
	RemoveTag   string    `name:"remove-tag" placeholder:"TAG" help:"A word that it has."`
}

// read reads what needs no database.
func (c *change) read(a *app) (store.Change, error) {
	args, err := c.otherArgs.read(a)
	out := store.Change{NewArgs: args, Queue: c.Queue, AddTag: c.AddTag, RemoveTag: c.RemoveTag}
	if c.Priority != nil {
		n := int16(*c.Priority)
		out.Priority = &n
	}
	if c.MaxAttempts != nil {
		if out.MaxAttempts = *c.MaxAttempts; *c.MaxAttempts < 1 {
			return out, usagef("--max-attempts: must be between 1 and %d", store.MaxAttempts)
		}
	}
	return out, err
}

type changing func(*store.Store, context.Context, store.OperatorParams, store.Change) (store.Job, error)

// change does what a change asks for.
func (o *operate) change(ctx context.Context, a *app, c *change, do changing, done string) error {
	ch, err := c.read(a)
	if err != nil {
		return err
	}
	return o.act(ctx, a, func(st *store.Store, ctx context.Context, p store.OperatorParams) (store.Job, error) {
		at, err := runAt(ctx, st, c.RunAt)
		if err != nil {
			return store.Job{}, usagef("--run-at: %w", err)
		}
		ch.RunAt = at
		return do(st, ctx, p, ch)
	}, done)
}

type jobsAmendCmd struct {
	operate
	change
}

// Help says what may change when.
func (jobsAmendCmd) Help() string {
	return `What is not named stays as it is; all of the change is made, or nothing. Args and the due time change only while the job waits: what runs or has ended gets other args from "jobs requeue --args".`
}

// Run amends.
func (c *jobsAmendCmd) Run(ctx context.Context, a *app) error {
	if c.change == (change{}) {
		return usagef("nothing is named that is to be changed, as in --priority -5")
	}
	return c.operate.change(ctx, a, &c.change, (*store.Store).Amend, "is changed")
}

type jobsDuplicateCmd struct {
	operate
	change
}

// Run makes a new job, with what is named made different.
func (c *jobsDuplicateCmd) Run(ctx context.Context, a *app) error {
	return c.operate.change(ctx, a, &c.change, (*store.Store).Duplicate, fmt.Sprintf("is new, a duplicate of job %d", c.ID))
}

type jobsNoteCmd struct{ operate }

// Run writes the reason down.
func (c *jobsNoteCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, (*store.Store).Note, "has the note on its timeline")
}

type jobsEraseCmd struct{ operate }

// Help says what goes and what stays.
func (jobsEraseCmd) Help() string {
	return `Its args with every older version, its result, and the texts of its errors and outputs go; nothing brings them back. Its timeline stays.`
}

// Run erases.
func (c *jobsEraseCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, (*store.Store).Erase, "is erased; its timeline stays")
}

type jobsVersionsCmd struct {
	database
	ID     int64  `arg:"" help:"The job's id."`
	Reveal *int64 `name:"reveal" placeholder:"VERSION" help:"Show the args of this version in full; that somebody looked is recorded."`
}

// Run lists versions without their args, or shows the args of one.
func (c *jobsVersionsCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		if c.Reveal != nil {
			return c.show(ctx, a, st)
		}
		return c.list(ctx, a, st)
	})
}

func (c *jobsVersionsCmd) show(ctx context.Context, a *app, st *store.Store) error {
	args, err := st.RevealArgs(ctx, c.ID, *c.Reveal, actor())
	switch {
	case errors.Is(err, store.ErrNoVersion):
		return fmt.Errorf("there is no version %d of job %d's args, or no longer", *c.Reveal, c.ID)
	case err != nil:
		return err
	case a.json:
		return a.printJSON(map[string]any{"version": *c.Reveal, "args": args})
	}
	return a.printf("%s\n", indented(args))
}

func (c *jobsVersionsCmd) list(ctx context.Context, a *app, st *store.Store) error {
	j, err := st.Job(ctx, c.ID)
	if err != nil {
		return aboutJob(c.ID, err)
	}
	kept, err := st.ArgsVersions(ctx, c.ID)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(wire.ArgsVersionsOf(j, kept))
	}
	now := fmt.Sprintf("Job %d has version %d of its args", c.ID, j.ArgsVersion)
	if !j.ErasedAt.IsZero() {
		now = fmt.Sprintf("The args of job %d were erased at %s", c.ID, timeText(j.ErasedAt))
	}
	if len(kept) == 0 {
		return a.printf("%s; no other is kept.\n", now)
	}
	rows := make([][]string, len(kept))
	for i, v := range kept {
		rows[i] = []string{decimal(v.Version), decimal(int64(v.Bytes)), timeText(v.ReplacedAt), v.ReplacedBy, v.Reason}
	}
	fmt.Fprintf(a.out, "%s. Kept beside it:\n", now)
	return printTable(a.out, []string{"VERSION", "BYTES", "REPLACED", "BY", "WHY"}, rows)
}
