package main

import (
	"context"
	"errors"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// changeOperation is a change of an operation, bound to what was seen.
type changeOperation struct {
	oneOperation
	Reason string `name:"reason" placeholder:"TEXT" help:"Why. It is kept in the audit."`
	Seen   *int64 `name:"seen" placeholder:"REVISION" help:"The revision that you looked at: what has changed since is left alone. Without it what is there is read first and changed only if it does not change in between."`
}

// rules say how an operation is carried on.
type rules struct {
	Pace      int `name:"pace" placeholder:"N" help:"At most so many jobs a minute. Without it they go as fast as they can."`
	HaltAbove int `name:"halt-above" placeholder:"PERCENT" help:"Halt when more than this percentage of the requeued jobs fails again with the same error, from 10 jobs on; after a resume, of those requeued since."`
}

func (r rules) check() error {
	switch {
	case r.Pace < 0 || r.Pace > store.MaxPace:
		return usagef("--pace: must be between 1 and %d", store.MaxPace)
	case r.HaltAbove < 0 || r.HaltAbove > 99:
		return usagef("--halt-above: must be between 1 and 99")
	}
	return nil
}

type operationsConfirmCmd struct {
	changeOperation
	rules
}

// Run confirms. A repeat is told so and does nothing.
func (c *operationsConfirmCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, c.rules, func(st *store.Store, p store.OperationParams) (store.Operation, bool, error) {
		return st.ConfirmOperation(ctx, p)
	})
}

type operationsPauseCmd struct{ changeOperation }

// Run pauses.
func (c *operationsPauseCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, rules{}, unrepeated(ctx, (*store.Store).PauseOperation))
}

type operationsResumeCmd struct {
	changeOperation
	rules
}

// Run resumes.
func (c *operationsResumeCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, c.rules, unrepeated(ctx, (*store.Store).ResumeOperation))
}

type operationsCancelCmd struct{ changeOperation }

// Run cancels.
func (c *operationsCancelCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, rules{}, unrepeated(ctx, (*store.Store).CancelOperation))
}

type operationChange func(*store.Store, store.OperationParams) (store.Operation, bool, error)

// unrepeated is a change that cannot be a repeat.
func unrepeated(ctx context.Context, do func(*store.Store, context.Context, store.OperationParams) (store.Operation, error)) operationChange {
	return func(st *store.Store, p store.OperationParams) (store.Operation, bool, error) {
		o, err := do(st, ctx, p)
		return o, false, err
	}
}

func (c *changeOperation) change(ctx context.Context, a *app, r rules, do operationChange) error {
	if c.Reason == "" {
		return usagef("--reason: is required; say why, for those who read the audit later")
	}
	if c.Seen != nil && *c.Seen < 1 {
		return usagef("--seen: must be the revision that `fenceline operations show %d` printed", c.ID)
	}
	if err := r.check(); err != nil {
		return err
	}
	return c.with(ctx, a, func(st *store.Store) error {
		p := store.OperationParams{ID: c.ID, Actor: actor(), Reason: c.Reason, Rules: store.Rules{Pace: r.Pace, HaltAbove: r.HaltAbove}}
		if c.Seen != nil {
			p.Seen = *c.Seen
		} else {
			o, err := st.Operation(ctx, c.ID)
			if err != nil {
				return aboutOperation(c.ID, err)
			}
			p.Seen = o.Revision
		}
		o, repeated, err := do(st, p)
		var conflict *store.OperationConflictError
		switch {
		case errors.As(err, &conflict) && a.json:
			return a.printRefused(conflict, conflict.Why, "", "operation", wire.OperationOf(conflict.Operation))
		case err != nil:
			return aboutOperation(c.ID, named(err))
		case a.json:
			return a.printJSON(wire.OperationOf(o))
		case repeated:
			return a.printf("Operation %d had been confirmed before, by %s; nothing was done twice. It is %s.\n", o.ID, oneLine(o.ConfirmedBy), o.State)
		}
		return a.printf("Operation %d is %s (revision %d).\n", o.ID, o.State, o.Revision)
	})
}
