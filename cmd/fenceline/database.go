package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
)

// database says where the jobs are.
type database struct {
	URL        string        `name:"database-url" env:"DATABASE_URL" placeholder:"URL" group:"Database" help:"PostgreSQL to use. Without one, a private server is run in the data directory. Better given by the environment: a command line is visible to others."`
	OwnerURL   string        `name:"owner-database-url" env:"FENCELINE_OWNER_DATABASE_URL" placeholder:"URL" group:"Database" help:"The same database as a role that may change its schema; without one, the database URL is used for that too."`
	DataDir    string        `name:"data-dir" env:"FENCELINE_DATA_DIR" placeholder:"DIR" group:"Database" help:"Where the private server keeps its data. The default is /var/lib/fenceline for root, else fenceline below XDG_STATE_HOME or ~/.local/state. Verbs given the same directory share the server."`
	Binaries   string        `name:"postgres-bin" env:"PGBIN" placeholder:"DIR" group:"Database" help:"Directory of the programs initdb and postgres for the private server. Without one, the newest set on this machine is used."`
	Redact     []redact.Rule `name:"redact" env:"FENCELINE_REDACT" placeholder:"RULE" group:"Database" help:"What is shown of what jobs hold, as KIND:PART.PATH=show, mask or never: *:args.**.card=never is shown to nobody. May be repeated; give all processes of one database the same."`
	RedactOnly bool          `name:"redact-only" env:"FENCELINE_REDACT_ONLY" group:"Database" help:"Only the rules that are given hold. Otherwise nobody is shown values under names such as password, token and secret either."`
}

// session is an open store and how it was reached.
type session struct {
	*store.Store
	place
}

// sizes bounds the connections of verbs that do one thing at a time.
var small = store.Config{MaxConns: 2, RenewalConns: 1}

// open reaches the database, sees to its schema where that is this verb's duty,
// and opens the store as the runtime role. Whoever opens a session closes it.
func (d database) open(ctx context.Context, a *app, how manner, cfg store.Config) (*session, error) {
	deadline := time.Now().Add(startPatience)
	cfg.Redact, cfg.RedactOnly = d.Redact, d.RedactOnly
	for {
		p, err := d.reach(ctx, a, how)
		if err != nil {
			return nil, err
		}
		s, err := p.open(ctx, how, cfg)
		if err == nil {
			return s, nil
		}
		// A private server that was found may be stopped by its owner at any time.
		var gone *pgconn.ConnectError
		if !p.private || p.server != nil || !errors.As(err, &gone) || ctx.Err() != nil || time.Now().After(deadline) {
			return nil, errors.Join(err, p.close(ctx))
		}
	}
}

// with opens the store, does one thing and closes it.
func (d database) with(ctx context.Context, a *app, do func(*store.Store) error) error {
	s, err := d.open(ctx, a, visiting, small)
	if err != nil {
		return err
	}
	return errors.Join(do(s.Store), s.close(ctx))
}

func (p place) open(ctx context.Context, how manner, cfg store.Config) (*session, error) {
	cfg.URL = p.runtime
	if p.server != nil || how == serving && p.owner != p.runtime {
		if err := p.migrate(ctx); err != nil {
			return nil, err
		}
	}
	st, err := store.Open(ctx, cfg)
	// A private server that was found may not have been migrated yet by the
	// process that started it. Others' databases are changed by serve and
	// migrate only.
	if errors.Is(err, store.ErrSchema) && (p.private || how == serving) {
		if err := p.migrate(ctx); err != nil {
			return nil, err
		}
		st, err = store.Open(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	return &session{st, p}, nil
}

// migrate changes the schema, as its owner.
func (p place) migrate(ctx context.Context) error {
	err := store.Migrate(ctx, p.owner)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		return fmt.Errorf("%w; name a role that owns the schema with --owner-database-url (FENCELINE_OWNER_DATABASE_URL), or run `fenceline migrate` as one", err)
	}
	return err
}

// close gives the connections back and stops a server that was started here.
func (s *session) close(ctx context.Context) error {
	switch {
	case s.server == nil:
		s.Store.Close()
	case s.server.Err() == nil: // else whoever still holds a connection may hold it long
		s.last = func(ctx context.Context) error {
			defer s.Store.Close()
			return s.cutOff(ctx)
		}
	}
	return s.place.close(ctx)
}

// cutOff says of workers of other processes that their database ends, where it is
// stopped from here: they cannot say anything of themselves after that.
func (s *session) cutOff(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cutOffPatience)
	defer cancel()
	return s.CutOffWorkers(ctx)
}

// cutOffPatience bounds the last word to a database that is stopped.
const cutOffPatience = 5 * time.Second

// stopPatience is how long a private server gets for its orderly shutdown.
const stopPatience = 30 * time.Second
