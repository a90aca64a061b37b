package main

import (
	"context"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// rollupsCmd holds the verbs about the counts of the log.
type rollupsCmd struct {
	Rebuild rollupsRebuildCmd `cmd:"" help:"Throw the counts of everything that the log still holds away and count it anew. Jobs and the log are not touched."`
}

type rollupsRebuildCmd struct {
	database
}

// Run counts the log anew. Stopped before it is done, it has lost nothing: the
// rest is counted by whichever process works jobs, or by another run.
func (c *rollupsRebuildCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		done, err := st.RecountRollups(ctx)
		if err != nil {
			return err
		}
		return printRecount(a, done)
	})
}

func printRecount(a *app, done store.Rebuilt) error {
	if a.json {
		return a.printJSON(struct {
			OK      bool    `json:"ok"`
			Removed int64   `json:"removed"`
			Counted int64   `json:"counted"`
			Since   *string `json:"since"`
		}{true, done.Removed, done.Counted, wire.InstantOrNull(done.Since)})
	}
	if !done.Since.IsZero() {
		if err := a.printf("The log goes back to %s; counts of what was before that are kept as they were.\n", timeText(done.Since)); err != nil {
			return err
		}
	}
	return a.printf("%d transitions were counted before and %d are counted now, anew from the log.\n", done.Removed, done.Counted)
}
