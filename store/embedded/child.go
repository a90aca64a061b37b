package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// child is a process that was started and is being waited for.
type child struct {
	cmd  *exec.Cmd
	log  string // path; what it says from byte from on is this child's
	from int64
	done chan struct{}
	err  error // of Wait; read after done is closed
}

// spawn starts cmd and waits for it in the background, on a thread that lives
// as long as the child: Linux sends the parent-death signal when the *thread*
// that forked ends, and an idle thread may be ended at any time.
func spawn(cmd *exec.Cmd, log string, from int64) (*child, error) {
	c := &child{cmd: cmd, log: log, from: from, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// failure says how the child ended, with the last lines of its log; the log
// decides whether a full disk was the reason.
func (c *child) failure(dir, what string) error {
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return explain(dir, "the database server "+what+" ("+how+")", tail(c.log, c.from))
}

// tailBytes of a server's log tell why it ended.
const tailBytes = 2000

func tail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-tailBytes)
	text := make([]byte, max(0, info.Size()-from))
	n, _ := f.ReadAt(text, from)
	return string(text[:n])
}
