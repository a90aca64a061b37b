package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fenceline/fenceline/store/redact"
)

// RuntimeRole is the database role of a running Fenceline: it may read and
// change jobs and append to the log and the audit, and nothing else. Migrations
// run as the schema's owner.
const RuntimeRole = "fenceline_runtime"

// Config says how a [Store] reaches its database.
type Config struct {
	// URL is the connection string. When its user is a member of [RuntimeRole]
	// every connection acts as that role.
	URL string
	// MaxConns bounds the connections for everything but renewals; 0 means 16.
	MaxConns int32
	// RenewalConns are kept apart, so that a renewal never waits for a page or
	// a handler; 0 means 2.
	RenewalConns int32
	// StatementTimeout bounds each statement on the server; 0 means 15 s.
	StatementTimeout time.Duration
	// LockTimeout bounds each wait for a row; 0 means 5 s.
	LockTimeout time.Duration
	// IdleInTransaction bounds how long a stopped process can hold the rows it
	// has locked; keep it at half a lease or less. 0 means 2 s.
	IdleInTransaction time.Duration
	// Redact says what is shown of what jobs hold, and what of it is kept out of
	// the texts of errors, beside [redact.Defaults]; RedactOnly without those.
	// Every process of one database should have the same.
	Redact     []redact.Rule
	RedactOnly bool
}

// Store speaks the protocol to one database. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	renewals *pgxpool.Pool
	listen   *pgx.ConnConfig
	together together
	redact   redact.Set
}

// Open connects, as the runtime role where it may, and checks that the schema
// is the one this program was built for. The error is a sentence for a person; it
// is an [ErrSchema] or an [ErrServer] for a database that is not to be used.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	rules, err := cfg.rules()
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	base, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if err := prepare(ctx, base.ConnConfig, cfg); err != nil {
		return nil, err
	}
	base.MaxConns = cfg.MaxConns
	base.PingTimeout = answerPatience // before the use of a connection that was idle
	apart := base.Copy()
	apart.MaxConns = cfg.RenewalConns
	apart.MinConns = 1
	s := &Store{listen: base.ConnConfig.Copy(), redact: rules}
	if s.pool, err = pgxpool.NewWithConfig(ctx, base); err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if s.renewals, err = pgxpool.NewWithConfig(ctx, apart); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return s, nil
}

// Close gives every connection back. It waits for those in use.
func (s *Store) Close() {
	s.together.landed.Wait()
	s.renewals.Close()
	s.pool.Close()
}

// Connections tells how the pool for the verbs and reads, and the one that is
// kept for renewals, are used.
func (s *Store) Connections() (general, renewals *pgxpool.Stat) {
	return s.pool.Stat(), s.renewals.Stat()
}

// ListenConfig is how a listener connects: directly and on its own, never from
// a pool. Each call returns a fresh copy.
func (s *Store) ListenConfig() *pgx.ConnConfig { return s.listen.Copy() }

func (c Config) withDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = 16
	}
	if c.RenewalConns == 0 {
		c.RenewalConns = 2
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 15 * time.Second
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = 5 * time.Second
	}
	if c.IdleInTransaction == 0 {
		c.IdleInTransaction = 2 * time.Second
	}
	return c
}

// actAs is the right to act as a role. Before PostgreSQL 16 every member has it.
const actAs = `case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end`

// prepare sets what every connection starts with and asks the server, once,
// what it is. Nothing here is session state that the protocol relies on: the
// guards hold without it.
func prepare(ctx context.Context, conn *pgx.ConnConfig, cfg Config) error {
	conn.ValidateConnect = checked(conn.ValidateConnect)
	conn.Tracer = patience(cfg.StatementTimeout + answerPatience)
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectPatience
	}
	milliseconds := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	for name, value := range map[string]string{
		"application_name":                    "fenceline",
		"timezone":                            "UTC",
		"default_transaction_isolation":       "read committed",
		"synchronous_commit":                  "on",
		"statement_timeout":                   milliseconds(cfg.StatementTimeout),
		"lock_timeout":                        milliseconds(cfg.LockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(cfg.IdleInTransaction),
		"tcp_keepalives_idle":                 "10",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "2",
		// A plan made while the tables were empty must not scan them once they
		// are full; a bitmap is made of every finished job before the first is
		// counted. No statement here is long enough to repay compiling.
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"jit":               "off",
	} {
		if _, given := conn.RuntimeParams[name]; !given || name != "application_name" {
			conn.RuntimeParams[name] = value
		}
	}
	probe, err := pgx.ConnectConfig(ctx, conn)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer probe.Close(context.WithoutCancel(ctx))
	if _, _, err := SchemaVersion(ctx, probe); err != nil {
		return err
	}
	var acting string
	var member bool
	err = probe.QueryRow(ctx, `select current_user,
		exists (select from pg_roles where rolname = $1 and pg_has_role(current_user, oid, `+actAs+`))`,
		RuntimeRole).Scan(&acting, &member)
	if err != nil {
		return fmt.Errorf("ask the database for its roles: %w", err)
	}
	if member && acting != RuntimeRole {
		conn.RuntimeParams["role"] = RuntimeRole
	}
	return nil
}
