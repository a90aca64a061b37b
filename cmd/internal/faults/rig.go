package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
	"github.com/fenceline/fenceline/store/relay"
)

const (
	lease    = time.Second     // of a rig's attempts
	patience = 2 * time.Minute // for everything that must happen in the end
)

// Rig is one database and the processes around it.
type Rig struct {
	dir     string   // of the server, and of the processes' logs
	program []string // this program and its arguments before a role is played
	rewrite func(string) string
	mode    string // of the processes' queries: pgx's default_query_exec_mode
	config  embedded.Config
	ledger  *ledger
	url     string // of the database, as its owner, past every relay
	via     string // how processes reach it, but for their relays

	mu      sync.Mutex
	server  *embedded.Server
	toward  relay.Dial // where new relays lead; nil for the server
	members []*member
	closers []func()
}

// rigConfig says how to set a rig up.
type rigConfig struct {
	dir      string // made by the caller; private to the rig
	program  []string
	rewrite  func(string) string // of every statement that processes send
	mode     string              // pgx's default_query_exec_mode; empty for its own default
	settings map[string]string
	env      []string // of the server
}

// newRig starts a server and brings its database to this program's schema.
func newRig(ctx context.Context, c rigConfig) (*Rig, error) {
	settings := map[string]string{
		"max_connections": "120", "shared_buffers": "64MB", "max_prepared_transactions": "20",
		"min_wal_size": "32MB", "max_wal_size": "64MB", "wal_buffers": "4MB",
	}
	for name, value := range c.settings {
		settings[name] = value
	}
	r := &Rig{dir: c.dir, program: c.program, rewrite: c.rewrite, mode: c.mode, ledger: newLedger(),
		config: embedded.Config{DataDir: filepath.Join(c.dir, "server"), Settings: settings, Env: c.env}}
	if err := os.Mkdir(r.config.DataDir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var err error
	if r.server, err = embedded.Start(ctx, r.config); err != nil {
		return nil, err
	}
	r.url = r.server.URL(embedded.Superuser, embedded.Superuser)
	r.via = r.url
	if err := store.Migrate(ctx, r.url); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// close ends everything, and forgets nothing that failed.
func (r *Rig) close() error {
	r.mu.Lock()
	members, closers := r.members, r.closers
	r.mu.Unlock()
	for _, m := range members {
		m.close()
	}
	for i := len(closers) - 1; i >= 0; i-- {
		closers[i]()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.current().Stop(ctx)
}

// onClose adds what must end before the server does.
func (r *Rig) onClose(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closers = append(r.closers, fn)
}

func (r *Rig) current() *embedded.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

// dial leads a relay to wherever the database is at that moment.
func (r *Rig) dial() relay.Dial {
	return func(ctx context.Context) (net.Conn, error) {
		r.mu.Lock()
		to := r.toward
		r.mu.Unlock()
		if to == nil {
			var err error
			if to, err = relay.To(r.url); err != nil {
				return nil, err
			}
		}
		return to(ctx)
	}
}

// restart ends the server, with a fast shutdown or as a crash does, and starts
// it again.
func (r *Rig) restart(ctx context.Context, crash bool) error {
	old := r.current()
	if crash {
		if p, err := os.FindProcess(old.PID()); err == nil {
			p.Signal(syscall.SIGQUIT)
		}
		select {
		case <-old.Done():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := old.Stop(ctx); err != nil {
		return err
	}
	return r.startServer(ctx)
}

// startServer insists: a rig without a server has nothing left to show.
func (r *Rig) startServer(ctx context.Context) error {
	s, err := embedded.Start(ctx, r.config)
	for err != nil && rest(ctx, 200*time.Millisecond) {
		s, err = embedded.Start(ctx, r.config)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.server = s
	r.mu.Unlock()
	return nil
}

// owner connects as the owner, past every relay.
func (r *Rig) owner(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(r.url)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = "faults"
	cfg.RuntimeParams["default_transaction_read_only"] = "off"
	cfg.ConnectTimeout = 5 * time.Second
	return pgx.ConnectConfig(ctx, cfg)
}

// ask runs statements as the owner, on a connection of its own.
func (r *Rig) ask(ctx context.Context, sql string, into ...any) error {
	conn, err := r.owner(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if len(into) == 0 {
		_, err = conn.Exec(ctx, sql)
		return err
	}
	return conn.QueryRow(ctx, sql).Scan(into...)
}

// of are the places with a role.
func (r *Rig) of(play string) (out []*member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members {
		if m.role.Play == play {
			out = append(out, m)
		}
	}
	return out
}

// all are all places.
func (r *Rig) all() []*member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*member(nil), r.members...)
}

// await polls for a fact, until ctx ends or patience does.
func await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	var last error
	for {
		there, err := holds()
		if there && err == nil {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if !rest(ctx, 50*time.Millisecond) {
			return fmt.Errorf("wait until %s: %w", what, errors.Join(context.Cause(ctx), last))
		}
	}
}
