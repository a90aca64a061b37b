package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// operationsCmd holds the verbs for actions on many jobs.
type operationsCmd struct {
	Preview operationsPreviewCmd `cmd:"" help:"Select jobs for an action on all of them, and act on none yet."`
	Confirm operationsConfirmCmd `cmd:"" help:"Begin what a preview showed. A worker or a server carries it on."`
	List    operationsListCmd    `cmd:"" help:"List the operations, newest first."`
	Show    operationsShowCmd    `cmd:"" help:"Tell how far an operation has come."`
	Skipped operationsSkippedCmd `cmd:"" help:"List the jobs that an operation left alone, and why."`
	Pause   operationsPauseCmd   `cmd:"" help:"Stop an operation between two steps."`
	Resume  operationsResumeCmd  `cmd:"" help:"Go on with one that is paused or was halted."`
	Cancel  operationsCancelCmd  `cmd:"" help:"End an operation. What was done stays done."`
}

type operationsListCmd struct{ database }

// Run prints the newest operations.
func (c *operationsListCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		all, _, err := st.Operations(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"operations": wire.OperationsOf(all)})
		}
		if len(all) == 0 {
			return a.printf("Nobody has acted on many jobs at once.\n")
		}
		rows := make([][]string, len(all))
		for i, o := range all {
			rows[i] = []string{decimal(o.ID), string(o.State), string(o.Action), fmt.Sprintf("%d/%d", o.Position, o.Total),
				decimal(o.Skipped()), o.ConfirmedBy, timeText(o.ConfirmedAt), o.Words}
		}
		return printTable(a.out, []string{"ID", "STATE", "ACTION", "DEALT WITH", "LEFT ALONE", "BY", "CONFIRMED", "JOBS"}, rows)
	})
}

// oneOperation is a verb about one operation.
type oneOperation struct {
	database
	ID int64 `arg:"" help:"The operation's id."`
}

type operationsShowCmd struct{ oneOperation }

// Run prints one operation.
func (c *operationsShowCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		v, err := st.OperationView(ctx, c.ID)
		if err != nil {
			return aboutOperation(c.ID, err)
		}
		return printOperation(a, v)
	})
}

type operationsSkippedCmd struct {
	oneOperation
	After int64 `name:"after" placeholder:"CURSOR" help:"Go on where the last page ended."`
	Limit int   `name:"limit" default:"50" help:"How many at most; 1 to 500."`
}

// Run prints a page of the jobs that were left alone.
func (c *operationsSkippedCmd) Run(ctx context.Context, a *app) error {
	if c.Limit < 1 || c.Limit > store.MaxPage {
		return usagef("--limit: must be between 1 and %d", store.MaxPage)
	}
	return c.with(ctx, a, func(st *store.Store) error {
		if _, err := st.Operation(ctx, c.ID); err != nil {
			return aboutOperation(c.ID, err)
		}
		all, err := st.OperationSkips(ctx, c.ID, c.After, c.Limit+1)
		if err != nil {
			return err
		}
		next := ""
		if len(all) > c.Limit {
			all = all[:c.Limit]
			next = decimal(all[c.Limit-1].JobID)
		}
		if a.json {
			out := make([]wire.Skip, len(all))
			for i, s := range all {
				out[i] = wire.SkipOf(s)
			}
			return a.printJSON(map[string]any{"skipped": out, "next": wire.OrNull(next)})
		}
		rows := make([][]string, len(all))
		for i, s := range all {
			rows[i] = []string{decimal(s.JobID), string(s.Why), string(s.State), decimal(s.Seen), decimal(s.Revision), timeText(s.At)}
		}
		if len(rows) == 0 {
			return a.printf("No job was left alone.\n")
		}
		if err := printTable(a.out, []string{"JOB", "WHY", "STATE", "SEEN", "REVISION", "AT"}, rows); err != nil || next == "" {
			return err
		}
		return a.printf("There are more: --after %s\n", next)
	})
}

// aboutOperation says which operation an error is about.
func aboutOperation(id int64, err error) error {
	if errors.Is(err, store.ErrNoOperation) {
		return fmt.Errorf("there is no operation %d, or no longer", id)
	}
	return err
}

// printOperation tells a preview or a progress.
func printOperation(a *app, v store.OperationView) error {
	o := v.Operation
	if a.json {
		return a.printJSON(wire.OperationViewOf(v))
	}
	fmt.Fprintf(a.out, "Operation %d: %s %s: %s. It is %s (revision %d).\n", o.ID, o.Action, counted(o.Total, "job"), oneLine(o.Words), o.State, o.Revision)
	var states []string
	for _, s := range store.States {
		if n := o.States[s]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(a.out, "When looked at, by %s: %s.\n", oneLine(o.CreatedBy), strings.Join(states, ", "))
	for _, why := range []store.Conflict{store.ConflictChanged, store.ConflictAlreadyWaiting, store.ConflictAlreadyEnded, store.ConflictErased, store.ConflictGone} {
		if n := o.Expected[why]; n > 0 {
			fmt.Fprintf(a.out, "Would be left alone: %d %s.\n", n, why)
		}
	}
	if o.Looked > 0 {
		fmt.Fprintf(a.out, "The search stopped after %d jobs; there may be more matches, which this does not touch.\n", o.Looked)
	}
	if o.State == store.OperationPreview {
		return a.printf("Nothing has been done. Begin with: fenceline operations confirm %d --seen %d --reason TEXT\n", o.ID, o.Revision)
	}
	fmt.Fprintf(a.out, "Confirmed by %s at %s: %s\n", oneLine(o.ConfirmedBy), timeText(o.ConfirmedAt), paragraph(o.Reason))
	if o.ActsFor != o.ConfirmedBy {
		fmt.Fprintf(a.out, "Carried on for %s, who resumed it.\n", oneLine(o.ActsFor))
	}
	if o.HaltAbove > 0 && !o.ResumedAt.IsZero() {
		fmt.Fprintf(a.out, "Its stop rule judges what was requeued since it was resumed at %s.\n", timeText(o.ResumedAt))
	}
	if o.HaltReason != "" {
		fmt.Fprintf(a.out, "Halted: %s.\n", o.HaltReason)
	}
	return a.printf("%d of %d dealt with: %d done, %d left alone.\n", o.Position, o.Total, o.Done, o.Skipped())
}
