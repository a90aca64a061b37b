package main

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/fenceline/fenceline/store/watch"
	"github.com/fenceline/fenceline/web"
)

type workerCmd struct {
	database
	pool
	monitor
}

// Run works jobs until it is told to stop, and leaves in an orderly way.
func (c *workerCmd) Run(ctx context.Context, a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(c.queues()) == 0 {
		return usagef("--workers: 0 leaves no queue to work; name one with --queue")
	}
	if err := c.readable(); err != nil {
		return err
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	s, err := c.open(ctx, a, visiting, c.storeConfig())
	if err != nil {
		if listener != nil {
			listener.Close()
		}
		return err
	}
	return errors.Join(c.work(ctx, a, s, listener), s.close(ctx))
}

func (c *workerCmd) work(ctx context.Context, a *app, s *session, listener net.Listener) error {
	registry := newRegistry(s)
	stop := show(ctx, a, listener, &web.Probes{Store: s.Store, Metrics: registry, Version: versionOf()})
	defer stop()
	sent, err := newSpans(ctx)
	if err != nil {
		return err
	}
	defer sent.end(ctx, a)
	w, err := c.measured(s, c.config(a, nil), registry, sent)
	if err != nil {
		return err
	}
	return s.guard(ctx, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return watch.Run(ctx, c.watch(a, s)) })
		group.Go(func() error { return unfinished(a, w.Run(ctx)) })
		return group.Wait()
	})
}
