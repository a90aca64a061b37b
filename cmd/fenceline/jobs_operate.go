package main

import (
	"context"
	"errors"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// operate is an operator's action on one job.
type operate struct {
	database
	ID     int64  `arg:"" help:"The job's id."`
	Reason string `name:"reason" placeholder:"TEXT" help:"Why. It is kept on the timeline and in the audit."`
	Seen   *int64 `name:"seen" placeholder:"REVISION" help:"The revision that you looked at: a job that has changed since is left alone. Without it the job is read first and acted on only if it does not change in between."`
}

type jobsRequeueCmd struct {
	operate
	otherArgs
}

// Run requeues.
func (c *jobsRequeueCmd) Run(ctx context.Context, a *app) error {
	args, err := c.read(a)
	if err != nil {
		return err
	}
	return c.act(ctx, a, func(st *store.Store, ctx context.Context, p store.OperatorParams) (store.Job, error) {
		return st.RequeueWith(ctx, p, args)
	}, "is available again")
}

type jobsTerminateCmd struct{ operate }

// Run terminates.
func (c *jobsTerminateCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, (*store.Store).Terminate, "is terminated")
}

type action func(*store.Store, context.Context, store.OperatorParams) (store.Job, error)

func (c *operate) act(ctx context.Context, a *app, do action, done string) error {
	if c.Reason == "" {
		return usagef("--reason: is required; say why, for those who read the timeline later")
	}
	if c.Seen != nil && *c.Seen < 1 {
		return usagef("--seen: must be the revision that `fenceline jobs show %d` printed", c.ID)
	}
	return c.with(ctx, a, func(st *store.Store) error { return c.on(ctx, a, st, do, done) })
}

func (c *operate) on(ctx context.Context, a *app, st *store.Store, do action, done string) error {
	p := store.OperatorParams{JobID: c.ID, Actor: actor(), Reason: c.Reason}
	if c.Seen != nil {
		p.Seen = *c.Seen
	} else {
		j, err := st.Job(ctx, c.ID)
		if err != nil {
			return aboutJob(c.ID, err)
		}
		p.Seen = j.Revision
		if !a.json {
			a.printf("Job %d, kind %s, is %s (revision %d).\n", j.ID, oneLine(j.Kind), j.State, j.Revision)
		}
	}
	j, err := do(st, ctx, p)
	var conflict *store.ConflictError
	switch {
	case errors.As(err, &conflict) && a.json:
		return a.printRefused(conflict, conflict.Why, conflict.Field, "job", wire.JobOf(conflict.Job))
	case err != nil:
		return aboutJob(c.ID, named(err))
	case a.json:
		return a.printJSON(wire.JobOf(j))
	}
	return a.printf("Job %d %s (revision %d).\n", j.ID, done, j.Revision)
}
