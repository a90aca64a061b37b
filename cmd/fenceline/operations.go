package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
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

type operationsPreviewCmd struct {
	database
	Action string   `arg:"" help:"requeue or terminate."`
	Search *string  `name:"search" placeholder:"SEARCH" help:"All jobs that the search selects, as in kind:report state:discarded older:1h. Empty selects every job."`
	Jobs   []string `name:"job" placeholder:"ID[@REVISION]" sep:"none" help:"This job; may be repeated. With the revision that you looked at, as in 7@3, it is left alone if it has changed since; without one it is taken as it is now."`
}

// Run takes the snapshot and prints it.
func (c *operationsPreviewCmd) Run(ctx context.Context, a *app) error {
	switch {
	case c.Action != string(store.ActionRequeue) && c.Action != string(store.ActionTerminate):
		return usagef("the action must be requeue or terminate, not %q", c.Action)
	case (c.Search == nil) == (len(c.Jobs) == 0):
		return usagef("--search or --job is required, and only one of them")
	}
	r := store.OperationRequest{Action: store.Action(c.Action), Actor: actor()}
	if c.Search != nil {
		q, err := search.Parse(*c.Search)
		if err != nil {
			return usagef("--search: %s", err)
		}
		r.Filter.Query = q
	}
	for _, text := range c.Jobs {
		t, err := ticked(text)
		if err != nil {
			return err
		}
		r.Ticked = append(r.Ticked, t)
	}
	return c.with(ctx, a, func(st *store.Store) error {
		if err := c.look(ctx, st, &r); err != nil {
			return err
		}
		o, err := st.PreviewOperation(ctx, r)
		if err != nil {
			return named(err)
		}
		v, err := st.OperationView(ctx, o.ID)
		if err != nil {
			return err
		}
		return printOperation(a, v)
	})
}

// ticked reads a job that is named; its revision is 0 where none was seen.
func ticked(text string) (t store.Ticked, err error) {
	id, seen, bound := strings.Cut(text, "@")
	if t.JobID, err = strconv.ParseInt(id, 10, 64); err == nil && bound {
		t.Revision, err = strconv.ParseInt(seen, 10, 64)
	}
	if err != nil || t.JobID < 1 || bound && t.Revision < 1 {
		return t, usagef("--job: %q must be a job's id, as in 7, or an id and the revision that you looked at, as in 7@3", text)
	}
	return t, nil
}

// look reads the jobs that are named by their ids alone, and keeps a search in args.
func (c *operationsPreviewCmd) look(ctx context.Context, st *store.Store, r *store.OperationRequest) error {
	for i, t := range r.Ticked {
		if t.Revision != 0 {
			continue
		}
		j, err := st.Job(ctx, t.JobID)
		if err != nil {
			return aboutJob(t.JobID, err)
		}
		r.Ticked[i].Revision = j.Revision
	}
	if !r.Filter.Query.InArgs() {
		return nil
	}
	kept, err := st.KeepSearch(ctx, r.Filter.Query, actor())
	r.Search = kept
	return err
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
			out := make([]operationJSON, len(all))
			for i, o := range all {
				out[i] = operationOf(o)
			}
			return a.printJSON(map[string]any{"operations": out})
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
			out := make([]skipJSON, len(all))
			for i, s := range all {
				out[i] = skipJSON{s.JobID, string(s.Why), orNull(s.State), s.Seen, orNull(s.Revision), s.At}
			}
			return a.printJSON(map[string]any{"skipped": out, "next": orNull(next)})
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

// changeOperation is a change of an operation, bound to what was seen.
type changeOperation struct {
	oneOperation
	Reason string `name:"reason" placeholder:"TEXT" help:"Why. It is kept in the audit."`
	Seen   *int64 `name:"seen" placeholder:"REVISION" help:"The revision that you looked at: what has changed since is left alone. Without it what is there is read first and changed only if it does not change in between."`
}

// rules say how an operation is carried on.
type rules struct {
	Pace      int `name:"pace" placeholder:"N" help:"At most so many jobs a minute. Without it they go as fast as they can."`
	HaltAbove int `name:"halt-above" placeholder:"PERCENT" help:"Halt when more than this percentage of the requeued jobs fails again with the same error, from 10 jobs on."`
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
			return refusedJSON(a, string(conflict.Why), conflict, "operation", operationOf(conflict.Operation))
		case err != nil:
			return aboutOperation(c.ID, named(err))
		case a.json:
			return a.printJSON(operationOf(o))
		case repeated:
			return a.printf("Operation %d had been confirmed before, by %s; nothing was done twice. It is %s.\n", o.ID, oneLine(o.ConfirmedBy), o.State)
		}
		return a.printf("Operation %d is %s (revision %d).\n", o.ID, o.State, o.Revision)
	})
}

// refusedJSON shows what is there now, and fails.
func refusedJSON(a *app, code string, conflict error, what string, now any) error {
	err := a.printJSON(map[string]any{"error": map[string]any{"code": code, "message": conflict.Error(), what: now}})
	return errors.Join(err, fmt.Errorf("%w", conflict))
}

// aboutOperation says which operation an error is about.
func aboutOperation(id int64, err error) error {
	if errors.Is(err, store.ErrNoOperation) {
		return fmt.Errorf("there is no operation %d, or no longer", id)
	}
	return err
}

// operationJSON is an operation as the API shows it.
type operationJSON struct {
	ID          int64                    `json:"id,string"`
	Revision    int64                    `json:"revision"`
	State       store.OperationState     `json:"state"`
	Action      store.Action             `json:"action"`
	Total       int64                    `json:"total"`
	Position    int64                    `json:"position"`
	Done        int64                    `json:"done"`
	Skipped     int64                    `json:"skipped"`
	Looked      *int64                   `json:"looked"`
	Words       string                   `json:"words"`
	Q           *string                  `json:"q"`
	Search      *uuid.UUID               `json:"search"`
	States      map[store.State]int64    `json:"states"`
	Expected    map[store.Conflict]int64 `json:"expected"`
	CreatedAt   time.Time                `json:"created_at"`
	CreatedBy   string                   `json:"created_by"`
	ConfirmedAt *time.Time               `json:"confirmed_at"`
	ConfirmedBy *string                  `json:"confirmed_by"`
	Reason      *string                  `json:"reason"`
	Pace        *int                     `json:"pace"`
	HaltAbove   *int                     `json:"halt_above"`
	HaltReason  *string                  `json:"halt_reason"`
	Worker      *string                  `json:"worker"`
	SteppedAt   *time.Time               `json:"stepped_at"`
	FinishedAt  *time.Time               `json:"finished_at"`
}

type skipJSON struct {
	JobID    int64        `json:"job_id,string"`
	Why      string       `json:"why"`
	State    *store.State `json:"state"`
	Seen     int64        `json:"seen"`
	Revision *int64       `json:"revision"`
	At       time.Time    `json:"at"`
}

func operationOf(o store.Operation) operationJSON {
	return operationJSON{ID: o.ID, Revision: o.Revision, State: o.State, Action: o.Action, Total: o.Total, Position: o.Position, Done: o.Done,
		Skipped: o.Skipped(), Looked: orNull(o.Looked), Words: o.Words, Q: orNull(o.Filter), Search: orNull(o.Search), States: o.States, Expected: o.Expected,
		CreatedAt: o.CreatedAt, CreatedBy: o.CreatedBy, ConfirmedAt: orNull(o.ConfirmedAt), ConfirmedBy: orNull(o.ConfirmedBy), Reason: orNull(o.Reason),
		Pace: orNull(o.Pace), HaltAbove: orNull(o.HaltAbove), HaltReason: orNull(o.HaltReason), Worker: orNull(o.Worker),
		SteppedAt: orNull(o.SteppedAt), FinishedAt: orNull(o.FinishedAt)}
}

// printOperation tells a preview or a progress.
func printOperation(a *app, v store.OperationView) error {
	o := v.Operation
	if a.json {
		return a.printJSON(struct {
			operationJSON
			Sample []jobJSON `json:"sample"`
		}{operationOf(o), jobsOf(v.Sample)})
	}
	fmt.Fprintf(a.out, "Operation %d: %s %d jobs: %s. It is %s (revision %d).\n", o.ID, o.Action, o.Total, oneLine(o.Words), o.State, o.Revision)
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
	if o.HaltReason != "" {
		fmt.Fprintf(a.out, "Halted: %s.\n", o.HaltReason)
	}
	return a.printf("%d of %d dealt with: %d done, %d left alone.\n", o.Position, o.Total, o.Done, o.Skipped())
}
