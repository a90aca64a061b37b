package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestTheServerStopsByItselfWhenItsOwnerIsKilled(t *testing.T) {
	t.Parallel()
	dir := made(t)
	owner := runApp(t, dir)
	owner.kill()
	await(t, "the server is gone", func() bool { return !serves(owner.server, layout{dir}.data()) })
	if _, err := readPIDFile(layout{dir}.pidFile()); err == nil {
		t.Error("it did not shut down in order: its pid file is still there")
	}
}

func TestAStartWaitsForWhatAKilledServerLeftRunning(t *testing.T) {
	t.Parallel()
	dir := made(t)
	first := mustStart(t, quick(dir))
	remember(t, first)
	conn := connect(t, first.URL(Superuser, Superuser))
	rest := int(conn.PgConn().PID())
	if err := syscall.Kill(rest, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(rest, syscall.SIGKILL) })
	if err := syscall.Kill(first.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	if err := first.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	var said lines
	cfg := quick(dir)
	cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	started := make(chan error, 1)
	go func() {
		s, err := Start(bounded(t), cfg)
		if err == nil {
			mustRemember(t, s)
			err = s.Stop(context.Background())
		}
		started <- err
	}()
	await(t, "the start waits", func() bool { return said.contain("waiting for the processes") })
	if err := syscall.Kill(rest, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Error(err)
	}
}

// lines are a log that is written and read at once.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) contain(words string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), words)
}
