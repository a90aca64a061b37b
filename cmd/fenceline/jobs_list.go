package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/store/wire"
)

type jobsListCmd struct {
	database
	State  string `name:"state" help:"Only jobs in this state: scheduled, available, running, retryable, completed, discarded or terminated."`
	Kind   string `name:"kind" help:"Only jobs of this kind."`
	Queue  string `name:"queue" help:"Only jobs of this queue."`
	Key    string `name:"key" help:"Only jobs with this key."`
	Search string `name:"search" placeholder:"SEARCH" help:"Only jobs that the search selects, as in kind:report state:discarded error:\"timeout\" older:1h."`
	Order  string `name:"order" help:"newest, oldest, finished, finished-first, due or due-last; without it by what is searched for."`
	Limit  int    `name:"limit" default:"50" help:"How many at most; 1 to 500."`
	After  string `name:"after" placeholder:"CURSOR" help:"Go on where the last page ended."`
}

// Run prints one page.
func (c *jobsListCmd) Run(ctx context.Context, a *app) error {
	switch {
	case c.Limit < 1 || c.Limit > store.MaxPage:
		return usagef("--limit: must be between 1 and %d", store.MaxPage)
	case c.State != "" && !store.State(c.State).Valid():
		return usagef("--state: %q is not a state; the states are scheduled, available, running, retryable, completed, discarded and terminated", c.State)
	}
	f, err := c.filter()
	if err != nil {
		return err
	}
	return c.with(ctx, a, func(st *store.Store) error {
		page, err := c.read(ctx, st, f)
		if err != nil {
			return named(err)
		}
		if a.json {
			return a.printJSON(wire.PageOf(page))
		}
		return c.print(a, page)
	})
}

// effort is how long a list goes on looking for rare matches.
const effort = 10 * time.Second

func (c *jobsListCmd) filter() (store.Filter, error) {
	f := store.Filter{
		State: store.State(c.State), Kind: c.Kind, Queue: c.Queue, Key: c.Key,
		Order: store.Order(c.Order), Limit: c.Limit, Effort: effort,
	}
	var err error
	if f.Query, err = search.Parse(c.Search); err != nil {
		return f, usagef("--search: %s", err)
	}
	if c.Order != "" && !slices.Contains(store.Orders, f.Order) {
		return f, usagef("--order: %q is not an order; the orders are newest, oldest, finished, finished-first, due and due-last", c.Order)
	}
	if f.After, err = store.ParsePlace(c.After); err != nil {
		return f, usagef("--after: must be what an earlier page gave")
	}
	return f, nil
}

// read is one page. A search in what jobs were given is recorded, as it is when
// the console asks.
func (c *jobsListCmd) read(ctx context.Context, s *store.Store, f store.Filter) (store.Page, error) {
	if f.Query.InArgs() {
		if _, err := s.KeepSearch(ctx, f.Query, actor()); err != nil {
			return store.Page{}, err
		}
	}
	return s.Jobs(ctx, f)
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
	if len(rows) == 0 && page.Next.ID == 0 {
		return a.printf("No job matches.\n")
	}
	if err := printTable(a.out, head, rows); err != nil {
		return err
	}
	switch {
	case page.Next.ID != 0 && page.Bound != 0:
		return a.printf("Looked through %d jobs; more may match: --after %s\n", page.Bound, page.Next)
	case page.Next.ID != 0:
		return a.printf("There are more: --after %s\n", page.Next)
	}
	return nil
}
