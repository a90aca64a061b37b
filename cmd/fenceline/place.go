package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
)

// manner is how a verb uses a database.
type manner int

const (
	visiting manner = iota // uses what runs, else runs a private server for its own duration
	serving                // owns the data directory, and sees to the schema
)

// place is where a database is, and as whom it is entered.
type place struct {
	owner   string           // connection string of the role that changes the schema
	runtime string           // connection string of everything else
	private bool             // a private server, whoever started it
	server  *embedded.Server // one that was started here
	dir     string           // its data directory
	shared  bool             // others may have come to use it
	leave   func()           // ends the use of one that was started elsewhere

	last func(context.Context) error // what is said to one that was started here before it is stopped
}

// readable reads the addresses without using them.
func (d database) readable() error {
	if d.OwnerURL != "" && d.URL == "" {
		return usagef("--owner-database-url: is given without --database-url (DATABASE_URL), the address that everything else uses")
	}
	for _, given := range []struct{ name, url string }{
		{"--database-url (DATABASE_URL)", d.URL},
		{"--owner-database-url (FENCELINE_OWNER_DATABASE_URL)", d.OwnerURL},
	} {
		if _, err := pgx.ParseConfig(given.url); err != nil && given.url != "" {
			return usagef("%s: cannot be read as postgres://USER:PASSWORD@HOST:PORT/DATABASE or as keywords: %w", given.name, reasonOf(err))
		}
	}
	return nil
}

// reasonOf is why an address could not be read, without the address.
func reasonOf(err error) error {
	if reason := errors.Unwrap(err); reason != nil {
		return reason
	}
	return errors.New("it is malformed")
}

// reach finds or starts the server.
func (d database) reach(ctx context.Context, a *app, how manner) (place, error) {
	if err := d.readable(); err != nil {
		return place{}, err
	}
	if d.URL != "" {
		if d.DataDir != "" {
			a.log.Warn("the data directory is not used, because a database URL is given", "dir", d.DataDir)
		}
		return place{owner: cmp.Or(d.OwnerURL, d.URL), runtime: d.URL}, nil
	}
	if how == serving {
		return d.start(ctx, a)
	}
	p, err := d.findOrStart(ctx, a)
	p.shared = true
	return p, err
}

// startPatience bounds the wait for a server that another process is starting
// or stopping.
const startPatience = 60 * time.Second

// findOrStart shares a server that runs. One that is being started or stopped
// by another process is waited for.
func (d database) findOrStart(ctx context.Context, a *app) (place, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		p, err := d.visit()
		if errors.Is(err, embedded.ErrNotRunning) {
			p, err = d.start(ctx, a)
		}
		if !errors.Is(err, embedded.ErrInUse) {
			return p, err
		}
		select {
		case <-ctx.Done():
			return place{}, fmt.Errorf("%w, and its database server is not ready", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// visit shares a server that runs, and that nobody is about to stop.
func (d database) visit() (place, error) {
	if _, err := embedded.Find(d.DataDir); err != nil {
		return place{}, err
	}
	leave, err := embedded.Visit(d.DataDir)
	if err != nil {
		return place{}, err
	}
	// It may have been stopped before the visit began.
	url, err := embedded.Find(d.DataDir)
	if err != nil {
		leave()
		return place{}, err
	}
	p := privatePlace(url)
	p.leave = leave
	return p, nil
}

func (d database) start(ctx context.Context, a *app) (place, error) {
	server, err := embedded.Start(ctx, embedded.Config{DataDir: d.DataDir, BinDir: d.Binaries, Log: a.log})
	if err != nil {
		return place{}, err
	}
	p := privatePlace(server.URL)
	p.server, p.dir = server, d.DataDir
	return p, nil
}

func privatePlace(url func(database, user string) string) place {
	return place{
		owner:   url(embedded.Superuser, embedded.Superuser),
		runtime: url(embedded.Superuser, store.RuntimeRole),
		private: true,
	}
}

// close ends a visit, or stops a server that was started here. It takes its time even when ctx
// has ended: a hurried stop would make the next start recover.
func (p place) close(ctx context.Context) error {
	if p.leave != nil {
		p.leave()
	}
	if p.server == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if p.shared {
		defer p.awaitOthers(ctx)()
	}
	var err error
	if p.last != nil {
		err = p.last(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	return errors.Join(err, p.server.Stop(ctx))
}

// othersPatience is how long a verb that runs a server for its own duration
// leaves it to others that found it meanwhile.
const othersPatience = 20 * time.Second

// awaitOthers returns when nobody else uses the server, or the time is over.
// Until release is called nobody can begin to.
func (p place) awaitOthers(ctx context.Context) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, othersPatience)
	defer cancel()
	release, err := embedded.Alone(ctx, p.dir)
	if err != nil {
		return func() {}
	}
	return release
}

// lostPatience is how long work gets to stop when its database server is gone.
const lostPatience = 5 * time.Second

// guard runs work, which ends soon after its context. When a private server
// that was started here ends on its own, work is told to stop, given a moment,
// and then left to the end of the process: without a database it could only
// wait.
func (p place) guard(ctx context.Context, work func(context.Context) error) error {
	if p.server == nil {
		return work(ctx)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case <-p.server.Done():
	}
	stop()
	select {
	case <-done:
	case <-time.After(lostPatience):
	}
	return p.server.Err()
}
