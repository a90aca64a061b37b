package main

import (
	"io"
	"sync"
)

// stdout is standard output that keeps the first failure to write to it. Help
// texts and verbs that print line after line do not look at each write; a script
// must not take what was cut off for the whole.
type stdout struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

func (p *stdout) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = err
		}
	}
	return n, err
}

// failed is the first failure; nil when all was written.
func (p *stdout) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
