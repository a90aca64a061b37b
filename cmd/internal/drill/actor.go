package drill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/cmd/internal/process"
)

// actor is one of the two worker processes, seen from outside.
type actor struct {
	name       string
	attempt    uuid.UUID // once it has claimed
	generation int64

	*process.Child
	stdin io.WriteCloser
	said  *lastWords
}

func (d *Drill) start(name string) (*actor, error) {
	a := &actor{name: name, said: &lastWords{}}
	cmd := exec.Command(d.cfg.Program, Verb, "--name", name, "--kind", d.kind,
		"--lease", d.cfg.Lease.String(), "--limit", d.cfg.Limit.String())
	cmd.Env, cmd.Stderr = d.cfg.Env, a.said
	var err error
	if a.stdin, err = cmd.StdinPipe(); err == nil {
		a.Child, err = process.Start(cmd)
	}
	if err != nil {
		return nil, fmt.Errorf("start worker %s: %w", name, err)
	}
	return a, nil
}

// stop pauses the process and returns when it stands still.
func (a *actor) stop(ctx context.Context) error {
	if err := a.Pause(); err != nil {
		return fmt.Errorf("stop worker %s: %w", a.name, err)
	}
	for !a.Paused() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-a.Done:
			return a.died()
		case <-ctx.Done():
			return fmt.Errorf("stop worker %s: %w", a.name, context.Cause(ctx))
		}
	}
	return nil
}

func (a *actor) cont() error {
	if err := a.Continue(); err != nil {
		return fmt.Errorf("continue worker %s: %w", a.name, err)
	}
	return nil
}

// finish tells the worker that its work is done. A paused one reads it later.
func (a *actor) finish() error {
	if _, err := io.WriteString(a.stdin, finishWord+"\n"); err != nil {
		return a.heard(fmt.Errorf("tell worker %s to finish: %w", a.name, err))
	}
	return nil
}

// died is nil while the process runs and when it ended well.
func (a *actor) died() error {
	select {
	case <-a.Done:
	default:
		return nil
	}
	if a.Err() == nil {
		return nil
	}
	return a.heard(fmt.Errorf("worker %s ended (%w)", a.name, a.Err()))
}

// heard adds what the worker said last.
func (a *actor) heard(err error) error {
	if words := a.said.String(); words != "" {
		return fmt.Errorf("%w; worker %s said: %s", err, a.name, words)
	}
	return err
}

// endPatience is how long a worker gets to end on its own.
const endPatience = 5 * time.Second

// end ends the process whatever state it is in, and waits for it.
func (a *actor) end() {
	a.stdin.Close()
	a.Continue()
	select {
	case <-a.Done:
	case <-time.After(endPatience):
		a.Kill()
		<-a.Done
	}
}

// lastWords keeps the end of what a process says on standard error.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const keptWords = 2000 // bytes

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if len(l.text) > keptWords {
		l.text = bytes.Clone(l.text[len(l.text)-keptWords:])
	}
	return len(p), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}
