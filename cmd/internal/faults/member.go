package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fenceline/fenceline/cmd/internal/process"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/relay"
)

// member is a place in a rig that a process fills: when the process is killed
// another one takes the place, on the same relay.
type member struct {
	rig   *Rig
	role  role
	relay *relay.Relay

	mu       sync.Mutex // held while a fault is done to the process
	program  []string
	process  *process.Child
	stdin    io.WriteCloser
	read     chan struct{} // closed when all that the process said was heard
	started  int
	expected atomic.Bool // it was killed, or told to end
	up       atomic.Int64
}

// join makes a place and starts its first process.
func (r *Rig) join(of role) (*member, error) {
	l, err := relay.New(r.dial(), r.rewrite)
	if err != nil {
		return nil, err
	}
	if of.URL, err = r.address(l); err != nil {
		l.Close()
		return nil, err
	}
	m := &member{rig: r, role: of, relay: l, program: r.program}
	r.mu.Lock()
	r.members = append(r.members, m)
	r.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m, m.start()
}

// address is the database's, for a process behind a relay.
func (r *Rig) address(l *relay.Relay) (string, error) {
	url, err := l.URL(r.via)
	url += "&connect_timeout=10"
	if r.mode != "" {
		url += "&default_query_exec_mode=" + r.mode
	}
	return url, err
}

// through opens a store for this process behind a relay.
func (r *Rig) through(ctx context.Context, l *relay.Relay) (*store.Store, error) {
	url, err := r.address(l)
	if err != nil {
		return nil, err
	}
	return role{URL: url, Lease: lease}.open(ctx)
}

// start needs the lock.
func (m *member) start() error {
	m.started++
	of := m.role
	of.Seed += uint64(m.started) << 32
	// Who starts anew begins with keys and actions of its own.
	of.Name = fmt.Sprintf("%s.%d", of.Name, m.started)
	encoded, err := json.Marshal(of)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(m.rig.dir, m.role.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(m.program[0], m.program[1:]...)
	cmd.Env = append(os.Environ(), RoleVariable+"="+string(encoded))
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		m.stdin, err = cmd.StdinPipe()
	}
	if err != nil {
		return err
	}
	m.expected.Store(false)
	m.read = make(chan struct{})
	// The pipe is read to its end before the process is waited for.
	if m.process, err = process.Start(cmd, func() { m.hear(out) }); err != nil {
		return fmt.Errorf("start %s: %w", of.Name, err)
	}
	go m.watch(m.process, m.read)
	return nil
}

func (m *member) hear(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var w word
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			continue // what the race detector or a panic says goes to the log
		}
		if w.Word == wordUp {
			m.up.Add(1)
		}
		m.rig.ledger.note(m.role.Play, w)
	}
}

// watch notes a process that ended though nobody wanted it to.
func (m *member) watch(p *process.Child, read chan struct{}) {
	<-p.Done
	close(read)
	if p.Err() != nil && !m.expected.Load() {
		m.rig.ledger.wrong(fmt.Sprintf("the process of %s ended by itself: %v", m.role.Name, p.Err()))
	}
}

// order says a line to the process. One that was killed meanwhile hears nothing.
func (m *member) order(line string) { io.WriteString(m.stdin, line+"\n") }

// kill kills the process and fills its place again.
func (m *member) kill() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected.Store(true)
	m.process.Kill()
	<-m.read
	m.stdin.Close()
	return m.start()
}

// finish tells the process to end what it has begun, and waits. It reports
// whether it ended in time.
func (m *member) finish(patience time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected.Store(true)
	m.order(orderFinish)
	if m.role.Play == playWorker {
		m.stdin.Close()
	}
	select {
	case <-m.read:
		return true
	case <-time.After(patience):
		return false
	}
}

// close ends the process whatever it does.
func (m *member) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		m.expected.Store(true)
		m.process.Kill()
		<-m.read
		m.stdin.Close()
	}
	m.relay.Close()
}
