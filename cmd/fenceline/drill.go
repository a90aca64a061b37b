package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fenceline/fenceline/cmd/internal/drill"
	"github.com/fenceline/fenceline/store"
)

type drillCmd struct {
	database
	Lease time.Duration `name:"lease" default:"5s" help:"How long the two leases are; between 1s and 10s."`
}

// Run plays the drill and prints each step as it happens.
func (c *drillCmd) Run(ctx context.Context, a *app) error {
	if c.Lease < time.Second || c.Lease > 10*time.Second {
		return usagef("--lease: %s must be between 1s and 10s, so that the drill ends within a minute", c.Lease)
	}
	s, err := c.open(ctx, a, visiting, small)
	if err != nil {
		return err
	}
	err = s.guard(ctx, func(ctx context.Context) error { return c.play(ctx, a, s) })
	return errors.Join(err, s.close(ctx))
}

func (c *drillCmd) play(ctx context.Context, a *app, s *session) error {
	cfg, err := drillConfig(a, s)
	if err != nil {
		return err
	}
	cfg.Actor, cfg.Lease, cfg.Pace = actor(), c.Lease, min(time.Second, c.Lease/4)
	d, err := drill.Begin(ctx, cfg)
	if err != nil {
		return err
	}
	if err := d.Run(ctx, (&drillPrinter{app: a}).print); err != nil {
		return err
	}
	if !a.json {
		return a.printf("The drill passed. Its story: fenceline jobs show %d\n", d.Job)
	}
	return nil
}

// drillConfig hands this very program and the database's address to the drill.
// The address goes by the environment, where other users cannot see it.
func drillConfig(a *app, s *session) (drill.Config, error) {
	program, err := os.Executable()
	if err != nil {
		return drill.Config{}, fmt.Errorf("find this program's own file: %w", err)
	}
	env := []string{"DATABASE_URL=" + s.runtime, "FENCELINE_LOG_FORMAT=text"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "FENCELINE_") && !strings.HasPrefix(entry, "DATABASE_URL=") {
			env = append(env, entry)
		}
	}
	return drill.Config{Store: s.Store, Program: program, Env: env, Log: a.log}, nil
}

// drillPrinter prints steps with the time since the first one, both from the
// database's clock.
type drillPrinter struct {
	app   *app
	began time.Time
}

func (p *drillPrinter) print(s drill.Step) {
	if p.began.IsZero() {
		p.began = s.At
	}
	if p.app.json {
		p.app.printJSON(s)
		return
	}
	p.app.printf("%s  %5.1fs  %s\n", clockText(s.At), s.At.Sub(p.began).Seconds(), s.Text)
}

// drillWorkerCmd is one of the two processes. It is not for people.
type drillWorkerCmd struct {
	URL   string        `name:"database-url" env:"DATABASE_URL" required:""`
	Name  string        `name:"name" required:""`
	Kind  string        `name:"kind" required:""`
	Lease time.Duration `name:"lease" required:""`
	Limit time.Duration `name:"limit" required:""`
}

// Run works the drill's job.
func (c *drillWorkerCmd) Run(ctx context.Context, a *app) error {
	st, err := store.Open(ctx, store.Config{URL: c.URL, MaxConns: 4, IdleInTransaction: c.Lease / 4})
	if err != nil {
		return err
	}
	defer st.Close()
	return drill.Work(ctx, st, c.Name, c.Kind, c.Lease, c.Limit, a.in, a.log)
}
