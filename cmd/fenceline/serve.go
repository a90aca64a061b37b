package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/fenceline/fenceline/cmd/internal/drill"
	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store/embedded"
	"github.com/fenceline/fenceline/store/watch"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/worker"
)

type serveCmd struct {
	Listen string    `name:"listen" env:"FENCELINE_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" group:"Console" help:"Where the console and the API are served. Loopback only, unless people sign in: otherwise whoever reaches the console may act."`
	Prefix string    `name:"prefix" env:"FENCELINE_PREFIX" placeholder:"/PATH" group:"Console" help:"The path under which a proxy mounts the console."`
	Hosts  []string  `name:"host" env:"FENCELINE_HOST" placeholder:"NAME" group:"Console" help:"One more name under which a proxy or tunnel reaches the console; others than localhost, 127.0.0.1 and ::1 are refused. May be repeated."`
	Traces traceLink `name:"trace-url" env:"FENCELINE_TRACE_URL" placeholder:"URL" group:"Console" help:"Where a job's trace is shown, with {trace} in place of its id."`
	signIn
	database
	pool
}

// Run serves until it is told to stop, and leaves in an orderly way: streams
// end at once, running jobs finish, the database server stops last.
func (c *serveCmd) Run(ctx context.Context, a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	if listener, err = c.secured(listener); err != nil {
		return err
	}
	s, err := c.open(ctx, a, serving, c.storeConfig())
	if err != nil {
		return err
	}
	err = s.guard(ctx, func(ctx context.Context) error { return c.serve(ctx, a, s, listener) })
	return errors.Join(err, s.close(ctx))
}

func (c *serveCmd) check() error {
	if err := c.pool.check(); err != nil {
		return err
	}
	if err := c.signIn.check(c.Listen); err != nil {
		return err
	}
	if _, err := web.CheckPrefix(c.Prefix); err != nil {
		return usagef("--prefix: %w", err)
	}
	return c.readable()
}

// listen takes the address before anything is started. Whoever starts Fenceline
// twice is told so, rather than that a port is taken.
func (c *serveCmd) listen(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err == nil {
		return listener, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if c.URL == "" {
		if _, err := embedded.Find(c.DataDir); err == nil {
			return nil, fmt.Errorf("--listen: %s is taken, and the data directory is in use: Fenceline already runs here; stop it first, or give this one another address and a directory of its own", c.Listen)
		}
	}
	return nil, fmt.Errorf("--listen: %s is taken by another program; stop it, or name another address", c.Listen)
}

// serve runs the parts until ctx ends or one of them fails.
func (c *serveCmd) serve(ctx context.Context, a *app, s *session, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	hub := events.NewHub(s.Store, events.Config{Log: a.log})
	drills, err := newDrills(ctx, a, s)
	if err != nil {
		return err
	}
	registry := newRegistry(s)
	sent, err := newSpans(ctx)
	if err != nil {
		return err
	}
	defer sent.end(ctx, a)
	server, err := web.New(web.Config{
		Store: s.Store, Hub: hub, Log: a.log, Drill: drills, Metrics: registry, TraceURL: string(c.Traces), Prefix: c.Prefix,
		Hosts: append(c.signIn.hosts(), c.Hosts...), SignIn: c.asked(listener.Addr()), Version: versionOf(), Grace: c.Grace / 4,
		Notices: c.HTTP.Notify, Console: c.HTTP.Console, Rates: c.Rates.asked(),
	})
	if err != nil {
		return usageError{err}
	}
	workers := func(ctx context.Context) error {
		// A pool carries operations on; a console without one does so itself.
		worker.CarryOperations(ctx, s.Store, "serve", a.log)
		return nil
	}
	if len(c.queues()) > 0 {
		w, err := c.measured(s, c.config(a, hub.Work()), registry, sent)
		if err != nil {
			return err
		}
		workers = w.Run
	}
	link, err := c.setUpLink(ctx, s, c.address(listener))
	if err != nil {
		return err
	}
	// The pool is woken by the hub, so the hub outlives it.
	listening, deafen := context.WithCancel(context.WithoutCancel(ctx))
	heard := make(chan error, 1)
	go func() { heard <- hub.Run(listening) }()
	group.Go(func() error { return leave(ctx, a, server.Run(ctx, listener)) })
	group.Go(func() error { return unfinished(a, workers(ctx)) })
	group.Go(func() error { return watch.Run(ctx, c.watch(a, s)) })
	c.ready(a, listener, link)
	err = group.Wait()
	drills.Wait()
	deafen()
	return errors.Join(err, <-heard)
}

func newDrills(ctx context.Context, a *app, s *session) (*drill.Starter, error) {
	cfg, err := drillConfig(a, s)
	if err != nil {
		return nil, err
	}
	return drill.NewStarter(ctx, cfg), nil
}

// leave takes an error at the end of an orderly shutdown for what it is: a
// request was cut short.
func leave(ctx context.Context, a *app, err error) error {
	if err != nil && ctx.Err() != nil {
		a.log.Warn("the console did not shut down in time", "error", err)
		return nil
	}
	return err
}

// ready prints the line that says where the console is, and one with a link for
// the first account while there is none.
func (c *serveCmd) ready(a *app, listener net.Listener, link string) {
	url := c.address(listener)
	if len(c.Ways) == 0 {
		a.log.Info("nobody has to sign in, so the console listens on loopback only", "listen", listener.Addr().String())
	}
	if c.behindUnknown() {
		a.log.Warn("a proxy in front seems to serve TLS, so that everybody comes from its address and is slowed together: name it by --proxy-from")
	}
	if a.json {
		said := map[string]string{"url": url, "version": versionOf()}
		if link != "" {
			said["set_up"] = link
		}
		a.printJSON(said)
		return
	}
	a.printf("Fenceline is ready: %s\n", url)
	if link != "" {
		a.printf("Make the first account within an hour: %s\n", link)
	}
}

// address is that of the console's first page.
func (c *serveCmd) address(listener net.Listener) string {
	prefix, _ := web.CheckPrefix(c.Prefix)
	return c.origin(listener.Addr()) + prefix + "/"
}

// unfinished says what an orderly end left behind. That is no failure of this
// process: the leases end, and the jobs run again.
func unfinished(a *app, err error) error {
	if errors.Is(err, worker.ErrUnfinished) {
		a.log.Warn("some jobs did not end in time; they will be run again when their leases end", "error", err)
		return nil
	}
	return err
}
