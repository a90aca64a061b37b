// Package process starts child processes and pauses and continues them, for
// the drills: a child never outlives the process that started it, whatever
// state it is in.
package process

import (
	"errors"
	"os/exec"
	"runtime"
)

// ErrUnsupported is returned on systems where no process can be stopped and
// continued.
var ErrUnsupported = errors.New("the drill stops and continues processes with signals, which this system does not have")

// Child is a process that was started and is being waited for.
type Child struct {
	Done <-chan struct{} // closed when it has ended
	cmd  *exec.Cmd
	err  error
}

// Start starts cmd. It waits for the process on the thread that started it:
// where the system kills a child when its parent ends, it means that thread.
// Each read is run first, to the end of a pipe that the child writes to.
func Start(cmd *exec.Cmd, read ...func()) (*Child, error) {
	cmd.SysProcAttr = attributes()
	done := make(chan struct{})
	c := &Child{Done: done, cmd: cmd}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			for _, fn := range read {
				fn()
			}
			c.err = cmd.Wait()
			close(done)
		}
	}()
	return c, <-started
}

// PID is the process's id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Err is how the process ended; read it after Done is closed.
func (c *Child) Err() error { return c.err }

// Kill ends the process at once. A process that has ended is no error.
func (c *Child) Kill() { c.cmd.Process.Kill() }

// Pause stops the process where it is. It may take a moment; see
// [Child.Paused].
func (c *Child) Pause() error { return Pause(c.PID()) }

// Continue lets a paused process go on.
func (c *Child) Continue() error { return Continue(c.PID()) }

// Paused reports whether the process stands still.
func (c *Child) Paused() bool { return isPaused(c.PID()) }
