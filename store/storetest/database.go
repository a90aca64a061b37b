package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// URL is the address, as its owner and the server's superuser, of a fresh empty
// database that lives as long as the test.
func URL(t testing.TB) string {
	t.Helper()
	return must(t, start).fresh(t, "template1")
}

// OwnerURL is the address, as its owner and the server's superuser, of a fresh
// database that holds Fenceline's schema, for tests that open stores themselves
// or look behind them.
func OwnerURL(t testing.TB) string {
	t.Helper()
	s := must(t, start)
	return s.fresh(t, must(t, s.migrated))
}

// New is a store on a fresh migrated database, acting as the runtime role. It
// is closed when the test ends.
func New(t testing.TB) *store.Store {
	t.Helper()
	s, _ := NewWithURL(t)
	return s
}

// NewWithURL is [New] with the owner's address of the same database.
func NewWithURL(t testing.TB) (*store.Store, string) {
	t.Helper()
	url := OwnerURL(t)
	return Open(t, store.Config{URL: url}), url
}

// Open opens one more store; it is closed when the test ends.
func Open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s := must(t, func() (*store.Store, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return store.Open(ctx, cfg)
	})
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() { defer close(closed); s.Close() }()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Error("the store did not close: the test still holds one of its connections")
		}
	})
	return s
}

// fresh makes a database from a template and drops it when the test ends.
func (s *server) fresh(t testing.TB, template string) string {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text()[:12])
	if err := s.create(name, template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.drop(name); err != nil {
			t.Error(err)
		}
	})
	return s.address(name)
}

// migrated is the name of the template that holds the schema, made once.
func (s *server) migrated() (string, error) {
	s.template.Lock()
	defer s.template.Unlock()
	if s.templateName != "" {
		return s.templateName, nil
	}
	name := "fenceline_template_" + strings.ToLower(rand.Text()[:12])
	if err := s.create(name, "template1"); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := store.Migrate(ctx, s.address(name)); err != nil {
		return "", errors.Join(fmt.Errorf("migrate the template database: %w", err), s.drop(name))
	}
	s.templateName = name
	return name, nil
}

func (s *server) dropTemplate() error {
	if s.templateName == "" {
		return nil
	}
	return s.drop(s.templateName)
}

// create copies the template's files where the server can (from PostgreSQL 15
// on): writing the copy to its log as well takes half as long again.
func (s *server) create(name, template string) error {
	return s.admin(func(ctx context.Context, conn *pgx.Conn) error {
		sql := fmt.Sprintf("create database %s template %s", pgx.Identifier{name}.Sanitize(), pgx.Identifier{template}.Sanitize())
		if !strings.HasPrefix(conn.PgConn().ParameterStatus("server_version"), "14") {
			sql += " strategy file_copy"
		}
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (s *server) drop(name string) error {
	if s.stopped.Load() {
		return nil
	}
	return s.admin(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("drop database if exists %s with (force)", pgx.Identifier{name}.Sanitize()))
		return err
	})
}

// admin does something on a connection of its own.
func (s *server) admin(do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.address("postgres"))
	if err != nil {
		if s.running != nil {
			err = errors.Join(err, s.running.Err())
		}
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

func must[T any](t testing.TB, get func() (T, error)) T {
	t.Helper()
	got, err := get()
	if err != nil {
		t.Fatal(err)
	}
	return got
}
