package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/fenceline/fenceline/migrations"
)

const (
	versionTable = "fenceline.schema_version"
	migrateLock  = 0x66656e63656c696e // "fencelin": one migration at a time in a database
)

// ErrSchema says that the database's schema is not the one this program was
// built for.
var ErrSchema = errors.New("the database schema does not fit this program")

// Migrate brings the schema to this program's version. url must name a role
// that owns the schema or may create it, over a direct connection (a
// transaction pooler cannot hold the lock). Any number of processes may call
// it at once: one works, the others wait and then find nothing to do. The error
// is an [ErrServer] where the server must not be used.
func Migrate(ctx context.Context, url string) error {
	return migrate(ctx, url, func(p *goose.Provider) error { _, err := p.Up(ctx); return err }, adopt)
}

// MigrateDown takes this program's newest migration back, if the schema has it,
// so that programs of the version before can be started again. What that
// migration kept in columns and tables of its own is gone. url is as for
// [Migrate].
func MigrateDown(ctx context.Context, url string) error {
	return migrate(ctx, url, func(p *goose.Provider) error { _, err := p.Down(ctx); return err }, nil)
}

func migrate(ctx context.Context, url string, step func(*goose.Provider) error, then func(context.Context, *pgx.Conn) error) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectPatience
	}
	cfg.ValidateConnect = checked(cfg.ValidateConnect)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(migrateLock)); err != nil {
		return fmt.Errorf("wait for another migration: %w", err)
	}
	// An owner of the schema need not be allowed to make one, and "if not
	// exists" asks for that right first.
	var exists bool
	if err := conn.QueryRow(ctx, "select to_regnamespace('fenceline') is not null").Scan(&exists); err != nil {
		return fmt.Errorf("look for schema fenceline: %w", err)
	}
	if !exists {
		if _, err := conn.Exec(ctx, "create schema fenceline"); err != nil {
			return fmt.Errorf("create schema fenceline: %w", err)
		}
	}
	if err := migrateLocked(ctx, cfg, step); err != nil || then == nil {
		return err
	}
	return then(ctx, conn)
}

// A migration needs a table for itself for a moment. While it waits for that,
// every verb waits behind it; so it gives up before PostgreSQL looks for
// deadlocks, which it does after a second, and tries again.
const (
	migrateLockTimeout = "500ms"
	migratePatience    = 2 * time.Minute
)

func migrateLocked(ctx context.Context, cfg *pgx.ConnConfig, step func(*goose.Provider) error) error {
	cfg = cfg.Copy()
	cfg.RuntimeParams["lock_timeout"] = migrateLockTimeout
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	versions, err := database.NewStore(goose.DialectPostgres, versionTable)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	provider, err := goose.NewProvider("", db, migrations.FS, goose.WithStore(versions))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	for end := time.Now().Add(migratePatience); ; {
		err := step(provider)
		if err == nil {
			return nil
		}
		if !inTheWay(err) || time.Now().After(end) {
			return fmt.Errorf("migrate: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("migrate: %w", errors.Join(err, ctx.Err()))
		case <-time.After(rand.N(time.Second)):
		}
	}
}

// inTheWay reports that a migration did nothing because others used a table.
func inTheWay(err error) bool {
	var told *pgconn.PgError
	return errors.As(err, &told) && (told.Code == "55P03" || told.Code == "40P01")
}

// SchemaVersion reads the version of the database's schema, 0 when there is
// none, and tells the one that this program was built for. The error matches
// [ErrSchema] when the two do not fit; the versions are told then too. A newer
// schema fits when it says so: its migrations name the oldest program that may
// still work on it, so that processes are replaced one by one.
func SchemaVersion(ctx context.Context, conn Querier) (have, want int64, err error) {
	if want, err = newest(); err != nil {
		return 0, 0, err
	}
	err = conn.QueryRow(ctx, "select coalesce(max(version_id), 0) from "+versionTable).Scan(&have)
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr) && (pgErr.Code == "42P01" || pgErr.Code == "3F000"):
		return 0, want, fmt.Errorf("%w: there is none yet; run `fenceline migrate`", ErrSchema)
	case errors.As(err, &pgErr) && pgErr.Code == "42501":
		return 0, want, fmt.Errorf("read the schema's version: %w; use a role that has been granted %s", err, RuntimeRole)
	case err != nil:
		return 0, want, fmt.Errorf("read the schema's version: %w", err)
	case have < want:
		return have, want, fmt.Errorf("%w: it is at version %d, this program needs %d; run `fenceline migrate`", ErrSchema, have, want)
	case have > want && !supports(ctx, conn, want):
		return have, want, fmt.Errorf("%w: it is at version %d, this program knows %d; use a newer program", ErrSchema, have, want)
	}
	return have, want, nil
}

// supports asks a newer schema whether programs of a version may work on it.
func supports(ctx context.Context, conn Querier, version int64) bool {
	var oldest int64
	err := conn.QueryRow(ctx, "select oldest from fenceline.compatibility").Scan(&oldest)
	return err == nil && version >= oldest
}

// Querier is a connection or a pool that can be asked for one row.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// newest is the version of the last migration in this program.
func newest() (int64, error) {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("this program holds no migrations: %v", err)
	}
	number, _, _ := strings.Cut(path.Base(names[len(names)-1]), "_")
	return strconv.ParseInt(number, 10, 64)
}
