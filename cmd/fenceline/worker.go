package main

import (
	"context"
	"errors"
)

type workerCmd struct {
	database
	pool
}

// Run works jobs until it is told to stop, and leaves in an orderly way.
func (c *workerCmd) Run(ctx context.Context, a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(c.queues()) == 0 {
		return usagef("--workers: 0 leaves no queue to work; name one with --queue")
	}
	s, err := c.open(ctx, a, visiting, c.storeConfig())
	if err != nil {
		return err
	}
	return errors.Join(c.work(ctx, a, s), s.close(ctx))
}

func (c *workerCmd) work(ctx context.Context, a *app, s *session) error {
	w, err := c.build(s.Store, c.config(a, nil))
	if err != nil {
		return err
	}
	return s.guard(ctx, func(ctx context.Context) error { return unfinished(a, w.Run(ctx)) })
}
