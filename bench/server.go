package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/embedded"
)

// server is the one PostgreSQL that everybody is measured on, with the settings
// that the product ships: fsync, full_page_writes and synchronous_commit on.
type server struct {
	dir     string
	running *embedded.Server
	made    int
}

func startServer(ctx context.Context, settings map[string]string) (*server, error) {
	dir, err := os.MkdirTemp("", "fenceline-bench-")
	if err != nil {
		return nil, err
	}
	// Started by root, the server runs as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	running, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Settings: settings})
	if err != nil {
		return nil, err
	}
	return &server{dir: dir, running: running}, nil
}

func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.running.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "stop the server:", err)
	}
	os.RemoveAll(s.dir)
}

func (s *server) url(database string) string { return s.running.URL(database, embedded.Superuser) }

// database makes an empty one with a contestant's schema.
func (s *server) database(ctx context.Context, c *contestant) (string, error) {
	s.made++
	name := fmt.Sprintf("bench_%d", s.made)
	if err := execute(ctx, s.url("postgres"), "create database "+name); err != nil {
		return "", err
	}
	return name, c.schema(ctx, s.url(name))
}

func (s *server) drop(name string) error {
	return execute(context.Background(), s.url("postgres"), "drop database "+name+" with (force)")
}

// settle puts every run before the same start: fresh statistics, and no
// checkpoint of somebody else's pages still to come.
func (s *server) settle(ctx context.Context, name string) error {
	if err := execute(ctx, s.url(name), "analyze"); err != nil {
		return err
	}
	return execute(ctx, s.url(name), "checkpoint")
}

func (s *server) version(ctx context.Context) (v string, err error) {
	return v, ask(ctx, s.url("postgres"), &v, "show server_version")
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%.60s: %w", sql, err)
	}
	return nil
}

// ask reads one value on a connection of its own.
func ask(ctx context.Context, url string, into any, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, sql, args...).Scan(into); err != nil {
		return fmt.Errorf("%.60s: %w", sql, err)
	}
	return nil
}
