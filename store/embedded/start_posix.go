//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Start runs the server of cfg's data directory and returns when it accepts
// connections and holds the database [Superuser]. It makes the cluster when
// there is none, and recovers it when the last owner died. A recovery takes as
// long as it takes; ctx bounds it. The server outlives ctx: it ends with
// [Server.Stop], or with this process where the system can arrange that.
// See [ErrInUse], [ErrMissing], [ErrVersion] and [ErrDiskFull] for the refusals
// that a caller may want to tell apart.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	dir, err := resolve(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, cfg, layout{dir})
	if errors.Is(err, errNoSpace) && !errors.Is(err, ErrDiskFull) {
		err = &refusal{ErrDiskFull, fmt.Sprintf("no space is left on the disk of %s: %v", dir, err)}
	}
	return s, err
}

func start(ctx context.Context, cfg Config, l layout) (_ *Server, err error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	lock, err := l.own()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	s := &Server{dir: l.dir, lock: lock, log: cfg.logger()}
	who, err := accountFor(l)
	if err != nil {
		return nil, err
	}
	major, err := l.major()
	if err != nil {
		return nil, err
	}
	bins, err := choose(cfg.BinDir, who, major, l)
	if err != nil {
		return nil, err
	}
	if err := s.clearPast(ctx, l); err != nil {
		return nil, err
	}
	if major == "" {
		if err := s.initialise(ctx, cfg, l, who, bins); err != nil {
			return nil, err
		}
	}
	if s.runDir, err = l.socketDir(who); err != nil {
		return nil, err
	}
	if err := clearSocket(s.runDir); err != nil {
		return nil, err
	}
	if err := s.launch(ctx, cfg, l, who, bins); err != nil {
		return nil, err
	}
	if err := s.createDatabase(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	s.log.Info("database server started", "dir", l.dir, "version", bins.version, "pid", s.PID(), "url", s.URL(Superuser, Superuser))
	return s, nil
}

// pollEvery is how often facts on disk are looked at while waiting for them.
const pollEvery = 10 * time.Millisecond

// launch starts the server and waits until its pid file says that this very
// process is ready.
func (s *Server) launch(ctx context.Context, cfg Config, l layout, who account, bins binaries) error {
	// A server that was killed leaves processes that take a moment to notice;
	// until then the next one is refused the memory they share.
	deadline := time.Now().Add(lingerFor)
	for {
		err := s.launchOnce(ctx, cfg, l, who, bins)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) || !strings.Contains(err.Error(), "still in use") {
			return err
		}
		s.log.Info("waiting for the processes of a killed database server", "dir", l.dir)
		if err := sleep(ctx, 20*pollEvery); err != nil {
			return err
		}
	}
}

// lingerFor bounds the wait for the processes that a killed server left behind.
const lingerFor = 15 * time.Second

func (s *Server) launchOnce(ctx context.Context, cfg Config, l layout, who account, bins binaries) error {
	data, err := l.dataFor(who)
	if err != nil {
		return err
	}
	defer data.close()
	log, err := l.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("read the server's log: %w", err)
	}
	cmd := exec.Command(bins.postgres(), cfg.arguments(data.path, s.runDir)...)
	cmd.Env = append(environment(), cfg.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.ExtraFiles = data.files()
	cmd.SysProcAttr = attributes(who, shutdownWithParent)
	if s.child, err = spawn(cmd, l.log(), info.Size()); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, l); err != nil {
		return errors.Join(err, s.discard())
	}
	return nil
}

func (s *Server) awaitReady(ctx context.Context, l layout) error {
	began := time.Now()
	for told := began; ; {
		if p, err := readPIDFile(l.pidFile()); err == nil && p.pid == s.PID() && p.ready() {
			return nil
		}
		select {
		case <-s.child.done:
			return crowded(l.dir, s.child.failure(l.dir, "did not start"))
		default:
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			s.log.Info("database server is not ready yet; it may be recovering", "dir", l.dir, "waited", time.Since(began).Round(time.Second))
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return fmt.Errorf("wait for the database server in %s: %w", l.dir, err)
		}
	}
}

// discard ends a server that never became ready.
func (s *Server) discard() error {
	if err := s.signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-s.child.done:
		return nil
	case <-time.After(quitAfter):
		return s.abandon()
	}
}

// createDatabase makes the owner's database unless an earlier start did.
func (s *Server) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres", Superuser))
	if err != nil {
		return fmt.Errorf("connect to the new database server: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, Superuser).Scan(&exists); err != nil {
		return fmt.Errorf("look for the database %s: %w", Superuser, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, `create database `+pgx.Identifier{Superuser}.Sanitize()); err != nil {
		return explain(s.dir, "create the database "+Superuser, err.Error())
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// number is what stands in a PG_VERSION; before version 10 a major had two parts.
var number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// major is the major version that made the cluster, or empty when there is no
// cluster yet. A directory that holds something else is left alone.
func (l layout) major() (string, error) {
	if _, err := os.Stat(l.dir + "/PG_VERSION"); err == nil {
		return "", fmt.Errorf("%s is a PostgreSQL data directory itself; name a directory for Fenceline to keep its own in", l.dir)
	}
	text, err := os.ReadFile(l.version())
	if err == nil {
		major := strings.TrimSpace(string(text))
		if !number.MatchString(major) {
			return "", fmt.Errorf("%s does not hold a version of PostgreSQL, so the cluster is damaged; it was left as it is", l.version())
		}
		return major, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the cluster's version: %w", err)
	}
	entries, err := os.ReadDir(l.data())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look into %s: %w", l.data(), err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s holds files but no PG_VERSION, so it is no database cluster; it was left as it is", l.data())
	}
	return "", nil
}
