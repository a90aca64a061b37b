//go:build unix

package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
	"github.com/fenceline/fenceline/worker/command"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

// bench is a pool that allows one program, written as a shell script.
type bench struct {
	t    *testing.T
	st   *store.Store
	dir  string
	halt func()
}

func start(t *testing.T, script string, options command.Options) *bench {
	t.Helper()
	b := &bench{t: t, st: storetest.New(t), dir: t.TempDir()}
	if options.Lease == 0 {
		options.Lease = 6 * time.Second
	}
	options.Dir = b.dir
	p := worker.New(b.st, worker.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Sweep: 20 * time.Millisecond, Poll: 100 * time.Millisecond,
		Retry: store.Backoff{Base: 5 * time.Millisecond, Cap: 10 * time.Millisecond}, Grace: 50 * time.Millisecond,
	})
	if err := command.Register(p, map[string]string{"script": program(t, script)}, options); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.halt = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(b.halt)
	return b
}

// program writes a script. It is renamed into place by another process, so that
// no descriptor of ours, inherited by a fork elsewhere, keeps it busy.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", `printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0"`, path, script},
		&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status.ExitStatus() != 0 {
		t.Fatal(err, status)
	}
	return path
}

func (b *bench) enqueue(args string, attempts int) int64 {
	b.t.Helper()
	return b.enqueueAs("", args, attempts)
}

func (b *bench) enqueueAs(key, args string, attempts int) int64 {
	b.t.Helper()
	got, err := b.st.Enqueue(b.t.Context(), store.Request{Kind: command.Kind, Key: key, Args: json.RawMessage(args), MaxAttempts: attempts})
	if err != nil {
		b.t.Fatal(err)
	}
	return got.ID
}

func (b *bench) view(id int64, state store.State) store.JobView {
	b.t.Helper()
	return storetest.AwaitState(b.t, b.st, id, state)
}

func (b *bench) result(id int64) string {
	b.t.Helper()
	b.view(id, store.Completed)
	p, err := b.st.Payload(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(p.Result)
}

// failure waits for the end of a job and returns its last attempt's error.
func (b *bench) failure(id int64) store.AttemptFailure {
	b.t.Helper()
	v := b.view(id, store.Discarded)
	if len(v.Errors) == 0 {
		b.t.Fatal("no error was stored")
	}
	return v.Errors[len(v.Errors)-1]
}

func (b *bench) read(name string) string {
	raw, _ := os.ReadFile(filepath.Join(b.dir, name))
	return strings.TrimSpace(string(raw))
}

// gone waits until processes have ended and were reaped, by us or by init.
func (b *bench) gone(pids ...string) {
	b.t.Helper()
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			b.t.Fatalf("no process id: %q", text)
		}
		storetest.Await(b.t, "process "+text+" is gone", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil && syscall.Kill(pid, 0) == syscall.ESRCH || strings.Contains(string(stat), ") Z ")
		})
	}
}
