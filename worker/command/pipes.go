package command

import (
	"os"
	"time"
)

// pipe connects the worker with one of a program's standard streams.
type pipe struct{ ours, child *os.File }

type pipes struct{ stdin, stdout, stderr pipe }

func openPipes() (*pipes, error) {
	p := &pipes{}
	var err error
	for _, open := range []struct{ read, write **os.File }{
		{&p.stdin.child, &p.stdin.ours}, {&p.stdout.ours, &p.stdout.child}, {&p.stderr.ours, &p.stderr.child},
	} {
		if *open.read, *open.write, err = os.Pipe(); err != nil {
			p.closeChild()
			p.closeOurs()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) all() []pipe { return []pipe{p.stdin, p.stdout, p.stderr} }

// closeChild closes the ends that only the program may hold, so that its exit
// ends the streams.
func (p *pipes) closeChild() {
	for _, each := range p.all() {
		if each.child != nil {
			each.child.Close()
		}
	}
}

func (p *pipes) closeOurs() {
	for _, each := range p.all() {
		if each.ours != nil {
			each.ours.Close()
		}
	}
}

// expire ends every read and write that is still under way after d.
func (p *pipes) expire(d time.Duration) {
	deadline := time.Now().Add(d)
	for _, each := range p.all() {
		each.ours.SetDeadline(deadline)
	}
}
