package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// ChildRole is the environment variable that makes this test binary a worker
// process of its own.
const ChildRole = "FENCELINE_TEST_WORKER"

// role is what such a process does.
type role struct {
	URL   string
	Name  string
	Kinds []string
	Slots int
	Lease time.Duration
	Sweep time.Duration
}

// childKinds are the handlers of worker processes. They say on standard output
// what happens to them.
var childKinds = map[string]func(context.Context, Job[json.RawMessage]) (string, error){
	"poison": func(context.Context, Job[json.RawMessage]) (string, error) { os.Exit(3); return "", nil },
	// A goroutine's panic cannot be caught by anybody.
	"astray": func(context.Context, Job[json.RawMessage]) (string, error) {
		go panic("astray")
		select {}
	},
	"hold": func(ctx context.Context, job Job[json.RawMessage]) (string, error) {
		fmt.Println("started", job.ID, job.Attempt.Generation)
		<-ctx.Done()
		fmt.Println("cancelled", job.ID, context.Cause(ctx), job.Attempt.Check(ctx) != nil)
		return "late", nil
	},
	"short": func(ctx context.Context, job Job[json.RawMessage]) (string, error) {
		fmt.Println("started", job.ID, job.Attempt.Generation)
		time.Sleep(300 * time.Millisecond)
		return "done", ctx.Err()
	},
	"quick": func(ctx context.Context, job Job[json.RawMessage]) (string, error) {
		time.Sleep(2 * time.Millisecond)
		return "done", nil
	},
}

// RunChild plays a role until SIGTERM and returns the exit status.
func RunChild(encoded string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var r role
	if err := json.Unmarshal([]byte(encoded), &r); err != nil {
		return childFailed(err)
	}
	st, err := store.Open(ctx, store.Config{URL: r.URL, MaxConns: 4})
	if err != nil {
		return childFailed(err)
	}
	defer st.Close()
	p := New(st, Config{
		Name: r.Name, Queues: map[string]int{"default": r.Slots}, Lease: r.Lease, Sweep: r.Sweep,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Poll: 100 * time.Millisecond,
		Retry: store.Backoff{Base: 5 * time.Millisecond, Cap: 20 * time.Millisecond}, Grace: 5 * time.Second,
	})
	for _, kind := range r.Kinds {
		Handle(p, kind, childKinds[kind])
	}
	fmt.Println("worker", p.ID())
	if err := p.Run(ctx); err != nil {
		return childFailed(err)
	}
	return 0
}

func childFailed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// child is a worker process under test.
type child struct {
	t   *testing.T
	cmd *exec.Cmd

	mu     sync.Mutex
	said   []string
	exited chan struct{}
}

func spawn(t *testing.T, r role) *child {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, exited: make(chan struct{}), cmd: exec.Command(os.Args[0], "-test.run=^$")}
	c.cmd.Env = append(os.Environ(), ChildRole+"="+string(encoded))
	c.cmd.Stderr = t.Output()
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.exited)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			c.mu.Lock()
			c.said = append(c.said, lines.Text())
			c.mu.Unlock()
		}
		c.cmd.Wait()
	}()
	t.Cleanup(func() { c.kill(); <-c.exited })
	return c
}

func (c *child) kill() { c.cmd.Process.Signal(syscall.SIGKILL) }

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// hears waits for a line that begins so, and returns it.
func (c *child) hears(prefix string) string {
	c.t.Helper()
	var line string
	storetest.Await(c.t, "the worker process says "+prefix, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, line = range c.said {
			if strings.HasPrefix(line, prefix) {
				return true
			}
		}
		return false
	})
	return line
}

func (c *child) id() string { return strings.TrimPrefix(c.hears("worker "), "worker ") }

func (c *child) awaitExit() int {
	c.t.Helper()
	select {
	case <-c.exited:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		c.t.Fatal("the worker process did not end")
		return 0
	}
}
