package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fenceline/fenceline/store"
)

type jobsListCmd struct {
	database
	State  string `name:"state" help:"Only jobs in this state: scheduled, available, running, retryable, completed, discarded or terminated."`
	Kind   string `name:"kind" help:"Only jobs of this kind."`
	Queue  string `name:"queue" help:"Only jobs of this queue."`
	Key    string `name:"key" help:"Only jobs with this key."`
	Limit  int    `name:"limit" default:"50" help:"How many at most; 1 to 500."`
	Before int64  `name:"before" placeholder:"ID" help:"Only jobs older than this one: where the last page ended."`
}

// Run prints one page.
func (c *jobsListCmd) Run(ctx context.Context, a *app) error {
	switch {
	case c.Limit < 1 || c.Limit > store.MaxPage:
		return usagef("--limit: must be between 1 and %d", store.MaxPage)
	case c.State != "" && !store.State(c.State).Valid():
		return usagef("--state: %q is not a state; the states are scheduled, available, running, retryable, completed, discarded and terminated", c.State)
	}
	s, err := c.open(ctx, a, visiting, small)
	if err != nil {
		return err
	}
	page, err := s.Jobs(ctx, store.Filter{
		State: store.State(c.State), Kind: c.Kind, Queue: c.Queue, Key: c.Key, Limit: c.Limit, Before: c.Before,
	})
	if err = errors.Join(named(err), s.close(ctx)); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Jobs []jobJSON `json:"jobs"`
			Next *int64    `json:"next,string"`
		}{jobsOf(page.Jobs), orNull(page.Next)})
	}
	return c.print(a, page)
}

func (c *jobsListCmd) print(a *app, page store.Page) error {
	rows := make([][]string, len(page.Jobs))
	for i, j := range page.Jobs {
		rows[i] = []string{
			decimal(j.ID), string(j.State), j.Kind, j.Queue, j.Key, decimal(j.Generation),
			fmt.Sprintf("%d/%d", j.Attempts, j.MaxAttempts), timeText(j.CreatedAt),
		}
	}
	head := []string{"ID", "STATE", "KIND", "QUEUE", "KEY", "GENERATION", "ATTEMPTS", "CREATED"}
	if len(rows) == 0 && page.Next == 0 {
		return a.printf("No job matches.\n")
	}
	if err := printTable(a.out, head, rows); err != nil {
		return err
	}
	switch {
	case page.Next != 0 && page.Bound != 0:
		return a.printf("Looked through %d jobs; older ones may match too: --before %d\n", page.Bound, page.Next)
	case page.Next != 0:
		return a.printf("There are older ones: --before %d\n", page.Next)
	}
	return nil
}
