package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

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
