package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests. It is long because two cores may
// be shared by everything else that is being tested.
const patience = 60 * time.Second

// result is how a process ended.
type result struct {
	out, err string
	code     int
}

// program is a command of this program in an environment that holds nothing of
// the program's own but what is given.
func program(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "FENCELINE_") && !strings.HasPrefix(entry, "DATABASE_URL=") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	// The race detector would let each process sleep for a second at its end.
	cmd.Env = append(cmd.Env, asProgram+"=1", "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// runWith runs the program to its end.
func runWith(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	cmd := program(env, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(2*patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// onDB is the environment that names a database.
func onDB(url string) []string { return []string{"DATABASE_URL=" + url} }

// newDir is a directory whose path is short enough for a socket in it, whatever
// the test is called.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fenceline-cmd-")
	if err != nil {
		t.Fatal(err)
	}
	// The server of root's tests runs as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "data")
}

// inDir is the environment that names a data directory.
func inDir(dir string) []string { return []string{"FENCELINE_DATA_DIR=" + dir} }

func (r result) wants(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	return r
}

// complains wants a refusal in one line that holds the words.
func (r result) complains(t *testing.T, code int, words ...string) {
	t.Helper()
	r.wants(t, code)
	if line := strings.TrimSpace(r.err); strings.Contains(line, "\n") || !strings.HasPrefix(line, "fenceline: ") {
		t.Errorf("not one clear line on standard error:\n%s", r.err)
	}
	for _, w := range words {
		if !strings.Contains(r.err, w) {
			t.Errorf("the error does not say %q: %s", w, r.err)
		}
	}
}

// object reads one JSON object.
func (r result) object(t *testing.T) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("not a JSON object (%v): %s\nstderr: %s", err, r.out, r.err)
	}
	return v
}

// process is a program that goes on.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *safeBuffer
	done     chan struct{}
}

// begin starts the program; it is ended with the test.
func begin(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return beginCommand(t, program(env, args...))
}

func beginCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t, cmd, &safeBuffer{}, &safeBuffer{}, make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.done); p.cmd.Wait() }()
	t.Cleanup(func() {
		p.endInOrder()
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", p.cmd.Args[1:], p.err)
		}
	})
	return p
}

// endInOrder leaves nothing of a process, nor of a database server that it runs.
func (p *process) endInOrder() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience / 2):
		p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code; -1 for a signal.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%v did not end; stderr: %s", p.cmd.Args[1:], p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// eventually waits for a fact.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !fact() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// safeBuffer is written by a process while a test reads it.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

var _ io.Writer = (*safeBuffer)(nil)

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
