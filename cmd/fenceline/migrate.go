package main

import (
	"context"
	"errors"
)

type migrateCmd struct {
	database
}

// Run migrates, as the schema's owner. It can be run again at any time.
func (c *migrateCmd) Run(ctx context.Context, a *app) error {
	p, err := c.reach(ctx, a, visiting)
	if err != nil {
		return err
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

// migrated proves that a store can be opened on what the migration left.
func (p place) migrated(ctx context.Context) (*session, error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	return p.open(ctx, visiting, small)
}
