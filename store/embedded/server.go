package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Server is a running private server. Whoever started it calls Stop.
type Server struct {
	dir     string
	runDir  string
	child   *child
	lock    io.Closer // the right to the data directory
	log     *slog.Logger
	stopped atomic.Bool
}

// URL is the address of a database of this server for the given user, as a
// connection string over the server's socket. Neither has to exist.
func (s *Server) URL(database, user string) string { return socketURL(s.runDir, database, user) }

func socketURL(runDir, database, user string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(user),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {runDir}, "port": {socketPort}, "sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

// PID is the process id of the server's first process, for drills that stop or
// kill it.
func (s *Server) PID() int { return s.child.cmd.Process.Pid }

// Done is closed when the server's process has ended, by Stop or on its own.
func (s *Server) Done() <-chan struct{} { return s.child.done }

// Err is nil while the server runs and after a Stop, and otherwise says that
// it ended on its own, how, and the last lines of its log.
func (s *Server) Err() error {
	select {
	case <-s.child.done:
	default:
		return nil
	}
	if s.stopped.Load() {
		return nil
	}
	return s.child.failure(s.dir, "ended on its own")
}

// quitAfter is how long an immediate shutdown, which only abandons work, gets
// before the server is killed.
const quitAfter = 5 * time.Second

// Stop ends the server with a fast shutdown: open transactions are rolled back,
// everything committed is on disk, the next start needs no recovery. When ctx
// ends first the server is stopped without that care (the next start recovers,
// nothing committed is lost) and ctx's cause is returned. The data directory is
// free for another process once Stop has returned. Stop may be called again.
func (s *Server) Stop(ctx context.Context) error {
	s.stopped.Store(true)
	defer s.lock.Close()
	defer s.removeRunDir()
	if err := s.signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-s.child.done:
		s.log.Info("database server stopped", "dir", s.dir)
		return nil
	case <-ctx.Done():
	}
	if err := s.abandon(); err != nil {
		return err
	}
	return fmt.Errorf("stop the database server: %w", context.Cause(ctx))
}

// removeRunDir takes away a socket directory that lies outside the data
// directory, while the lock still keeps others from using it.
func (s *Server) removeRunDir() {
	if s.runDir != (layout{s.dir}).run() {
		os.Remove(s.runDir)
	}
}

func (s *Server) abandon() error {
	if err := s.signal(syscall.SIGQUIT); err != nil {
		return err
	}
	select {
	case <-s.child.done:
		return nil
	case <-time.After(quitAfter):
	}
	if err := s.signal(os.Kill); err != nil {
		return err
	}
	<-s.child.done
	return nil
}

func (s *Server) signal(sig os.Signal) error {
	err := s.child.cmd.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal the database server: %w", err)
	}
	return nil
}
