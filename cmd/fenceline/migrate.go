package main

import (
	"context"
	"errors"

	"github.com/fenceline/fenceline/store"
)

type migrateCmd struct {
	database
	DownOne bool `name:"down-one" help:"Take this program's newest migration back, for a return to the program before it. What that migration added to the jobs is gone."`
}

// Run migrates, as the schema's owner. It can be run again at any time.
func (c *migrateCmd) Run(ctx context.Context, a *app) error {
	p, err := c.reach(ctx, a, visiting)
	if err != nil {
		return err
	}
	if c.DownOne {
		return c.down(ctx, a, p)
	}
	s, err := p.migrated(ctx)
	if err != nil {
		return errors.Join(err, p.close(ctx))
	}
	if err := s.close(ctx); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"ok": true})
	}
	return a.printf("The schema is up to date.\n")
}

// down takes the newest migration back.
func (c *migrateCmd) down(ctx context.Context, a *app, p place) error {
	if err := errors.Join(store.MigrateDown(ctx, p.owner), p.close(ctx)); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"ok": true})
	}
	return a.printf("The schema is one version older: start the program before this one.\n")
}

// migrated proves that a store can be opened on what the migration left.
func (p place) migrated(ctx context.Context) (*session, error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	return p.open(ctx, visiting, small)
}
