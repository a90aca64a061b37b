//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// clearPast deals with what an owner that died left behind: a server that still
// runs is stopped, a pid file whose pid now belongs to something else is
// removed, because the server would take that something for itself.
func (s *Server) clearPast(ctx context.Context, l layout) error {
	p, err := readPIDFile(l.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && serves(p.pid, l.data()) {
		return s.stopSurvivor(ctx, l, p.pid)
	}
	if err == nil && errors.Is(syscall.Kill(p.pid, 0), syscall.ESRCH) {
		// Nothing has that pid: the server sees so itself, and uses the file to
		// find out whether processes of the dead one linger.
		return nil
	}
	s.log.Info("removing the pid file of a database server that is gone", "dir", l.dir, "pid", p.pid)
	if err := os.Remove(l.pidFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale pid file: %w", err)
	}
	return nil
}

func (s *Server) stopSurvivor(ctx context.Context, l layout, pid int) error {
	s.log.Info("stopping a database server that outlived its owner", "dir", l.dir, "pid", pid)
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the database server (pid %d) that still runs in %s: %w", pid, l.dir, err)
	}
	told := time.Now()
	for serves(pid, l.data()) {
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			s.log.Info("still waiting for the old database server to stop", "dir", l.dir, "pid", pid)
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return fmt.Errorf("wait for the database server (pid %d) that still runs in %s: %w", pid, l.dir, err)
		}
	}
	return nil
}
