package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/command"
	"github.com/fenceline/fenceline/worker/request"
)

// pool says what a worker pool works and how.
type pool struct {
	Workers  int           `name:"workers" env:"FENCELINE_WORKERS" default:"10" group:"Pool" help:"How many jobs of the queue default run at once; 0 leaves that queue to others."`
	Queues   []slots       `name:"queue" env:"FENCELINE_QUEUE" placeholder:"NAME=SLOTS" group:"Pool" help:"One more queue to work, and how many of its jobs run at once. May be repeated."`
	Commands []assignment  `name:"command" env:"FENCELINE_COMMAND" placeholder:"NAME=PATH" group:"Pool" help:"A program that jobs of the kind command may run, by name. May be repeated."`
	HTTP     httpFile      `name:"http" env:"FENCELINE_HTTP" placeholder:"FILE" group:"Pool" help:"A JSON file with the targets that jobs of the kind http may send requests to, by name, and which of them are told of incidents."`
	Lease    time.Duration `name:"lease" env:"FENCELINE_LEASE" default:"30s" group:"Pool" help:"How long an attempt holds its job between renewals: a crash goes unnoticed for this long. Between 100ms and 24h."`
	Grace    time.Duration `name:"grace" env:"FENCELINE_GRACE" default:"30s" group:"Pool" help:"How long an orderly end may take. Running jobs get five eighths of it to finish, then are told to stop."`
	Name     string        `name:"name" env:"FENCELINE_NAME" placeholder:"NAME" group:"Pool" help:"The readable part of the worker's id. The default is the host's name."`
	retention
	thresholds
}

const (
	minLease = 100 * time.Millisecond
	maxLease = 24 * time.Hour
	minGrace = time.Second
	maxSlots = 100_000

	noticeSlots = 2
)

// check refuses what could not work before anything is started. The errors name
// flags; a pool's own would name fields of Go.
func (p pool) check() error {
	switch {
	case p.Workers < 0 || p.Workers > maxSlots:
		return usagef("--workers: %d must be between 0 and %d", p.Workers, maxSlots)
	case p.Lease < minLease || p.Lease > maxLease:
		return usagef("--lease: %s must be between %s and %s", p.Lease, minLease, maxLease)
	case p.Grace < minGrace:
		return usagef("--grace: %s must be at least %s", p.Grace, minGrace)
	}
	if err := p.retention.check(); err != nil {
		return err
	}
	if err := once("--queue", p.Queues, func(s slots) string { return s.Name }); err != nil {
		return err
	}
	return once("--command", p.Commands, func(a assignment) string { return a.Name })
}

func once[T any](flag string, given []T, name func(T) string) error {
	seen := map[string]bool{}
	for _, g := range given {
		if seen[name(g)] {
			return usagef("%s: %q is given twice", flag, name(g))
		}
		seen[name(g)] = true
	}
	return nil
}

// queues are all queues with their slots. A default queue that is named wins
// over the number of workers. Who tells of incidents delivers the notices too.
func (p pool) queues() map[string]int {
	all := map[string]int{}
	if p.Workers > 0 {
		all[store.DefaultQueue] = p.Workers
	}
	if len(p.HTTP.Notify) > 0 {
		all[store.NoticeQueue] = noticeSlots
	}
	for _, q := range p.Queues {
		all[q.Name] = q.Slots
	}
	return all
}

// config leaves an eighth of the grace time each to handlers that were told to
// stop, to storing what they returned, and to the database server.
func (p pool) config(a *app, wake <-chan struct{}) worker.Config {
	eighth := p.Grace / 8
	return p.retention.configure(worker.Config{
		Queues: p.queues(), Name: p.Name, Version: versionOf(), Log: a.log, Lease: p.Lease,
		Grace: p.Grace - 3*eighth, Wind: eighth, Wake: wake,
	})
}

// build makes the pool with the built-in kinds.
func (p pool) build(st *store.Store, cfg worker.Config) (*worker.Pool, error) {
	w := worker.New(st, cfg)
	worker.HandleNoop(w)
	programs := make(map[string]string, len(p.Commands))
	for _, c := range p.Commands {
		programs[c.Name] = c.Value
	}
	err := command.Register(w, programs, command.Options{
		Env: command.Inherit(os.Environ()), Stop: min(3*time.Second, cfg.Wind/2),
	})
	if err != nil {
		return nil, usagef("--command: %w", err)
	}
	p.HTTP.warn(cfg.Log)
	if err := request.Register(w, p.HTTP.Targets); err != nil {
		return nil, usagef("--http: %w", err)
	}
	return w, nil
}

// storeConfig keeps one connection for each part of a pool beside those for
// pages. A process that is stopped inside a transaction lets go of its rows in
// half a lease.
func (p pool) storeConfig() store.Config {
	return store.Config{IdleInTransaction: min(2*time.Second, max(p.Lease/2, 250*time.Millisecond))}
}

// assignment is NAME=VALUE.
type assignment struct{ Name, Value string }

// UnmarshalText reads a flag.
func (a *assignment) UnmarshalText(text []byte) error {
	name, value, ok := strings.Cut(string(text), "=")
	if !ok || name == "" || value == "" {
		return fmt.Errorf("%q is not NAME=PATH", text)
	}
	*a = assignment{name, value}
	return nil
}

// slots is NAME=SLOTS.
type slots struct {
	Name  string
	Slots int
}

// UnmarshalText reads a flag.
func (s *slots) UnmarshalText(text []byte) error {
	name, number, ok := strings.Cut(string(text), "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not NAME=SLOTS", text)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > maxSlots {
		return fmt.Errorf("%q: the number of slots must be between 1 and %d", text, maxSlots)
	}
	if len(name) > store.MaxQueue {
		return fmt.Errorf("a queue's name has at most %d bytes", store.MaxQueue)
	}
	*s = slots{name, n}
	return nil
}
