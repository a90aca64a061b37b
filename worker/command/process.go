package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/fenceline/fenceline/worker/internal/outcome"
)

// process is one run of a program.
type process struct {
	path  string
	dir   string
	env   []string
	input json.RawMessage
	stop  time.Duration // from SIGTERM to SIGKILL
	limit int           // bytes of standard output
}

// ending is what a run left behind.
type ending struct {
	startErr error
	state    *os.ProcessState
	stdout   []byte // at most one byte more than the limit
	overflow bool
	stderr   []byte // the tail
}

// drain is how long output is read on after the program and its group are gone:
// only a process that left the group can still hold the pipes.
const drain = time.Second

// run starts the program, feeds it and waits for its end, however it comes.
func (p *process) run(ctx context.Context) *ending {
	pipes, err := openPipes()
	if err != nil {
		return &ending{startErr: err}
	}
	cmd := &exec.Cmd{
		Path: p.path, Args: []string{p.path}, Env: p.env, Dir: p.dir, SysProcAttr: ownGroup(),
		Stdin: pipes.stdin.child, Stdout: pipes.stdout.child, Stderr: pipes.stderr.child,
	}
	err = cmd.Start()
	pipes.closeChild()
	defer pipes.closeOurs()
	if err != nil {
		return &ending{startErr: withoutPath(err)}
	}
	out, tail := newBounded(p.limit), &outcome.Tail{}
	var input, output sync.WaitGroup
	input.Go(func() { pipes.stdin.feed(p.input) })
	output.Go(func() { io.Copy(out, pipes.stdout.ours) })
	output.Go(func() { io.Copy(tail, pipes.stderr.ours) })

	state := p.await(ctx, cmd, out.full)
	killGroup(cmd.Process)
	pipes.expire(drain)
	input.Wait()
	output.Wait()
	return &ending{state: state, stdout: out.kept, overflow: out.over, stderr: tail.Bytes}
}

// await waits for the program. When ctx ends, or it has said more than may be
// stored, its group is asked to stop and then made to.
func (p *process) await(ctx context.Context, cmd *exec.Cmd, full <-chan struct{}) *os.ProcessState {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		cmd.Wait()
	}()
	select {
	case <-exited:
		return cmd.ProcessState
	case <-ctx.Done():
	case <-full:
	}
	stopGroup(cmd.Process)
	timer := time.NewTimer(p.stop)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		killGroup(cmd.Process)
		<-exited
	}
	return cmd.ProcessState
}

// withoutPath keeps the reason of a failed start and leaves the machine's paths
// out of what is shown.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (e *ending) success() bool { return e.state != nil && e.state.Success() }

func (e *ending) code() int {
	if e.state == nil {
		return -1
	}
	return e.state.ExitCode()
}

// bounded keeps the beginning of what is written, one byte more than the limit,
// and says once when there is more. It takes the rest, so that the writer is
// not blocked before it is stopped.
type bounded struct {
	kept  []byte
	limit int
	over  bool
	full  chan struct{}
}

func newBounded(limit int) *bounded { return &bounded{limit: limit, full: make(chan struct{})} }

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.limit+1-len(b.kept))
	b.kept = append(b.kept, p[:n]...)
	if len(b.kept) > b.limit && !b.over {
		b.over = true
		close(b.full)
	}
	return len(p), nil
}

// feed writes the input. A program need not read it.
func (p *pipe) feed(input []byte) {
	io.Copy(p.ours, io.MultiReader(bytes.NewReader(input), bytes.NewReader([]byte("\n"))))
	p.ours.Close()
}
