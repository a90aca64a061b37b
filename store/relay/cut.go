package relay

import (
	"errors"
	"slices"
	"strings"
)

// Cut is a commit whose answer is to be lost.
type Cut struct {
	relay    *Relay
	fragment string
	done     chan struct{}
}

// CutAnswer loses the answer of the next transaction that commits and ran a
// statement which holds the fragment: the server has made it durable, the
// client's connection ends without a word.
func (r *Relay) CutAnswer(fragment string) *Cut {
	c := &Cut{relay: r, fragment: fragment, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armed = append(r.armed, c)
	return c
}

// Done is closed when an answer was lost.
func (c *Cut) Done() <-chan struct{} { return c.done }

// Happened reports whether an answer was lost.
func (c *Cut) Happened() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Disarm takes the cut back, and reports whether it had happened.
func (c *Cut) Disarm() bool {
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	c.relay.armed = slices.DeleteFunc(c.relay.armed, func(other *Cut) bool { return other == c })
	return c.Happened()
}

var errCut = errors.New("the answer was lost on purpose")

// answered sees what the server sends. What belongs to a transaction whose
// answer is to be lost waits until its fate is known.
func (c *conn) answered(m []byte) ([]byte, bool, error) {
	c.mu.Lock()
	touched := c.touched
	switch {
	case m[0] == 'E':
		c.touched = nil
	case m[0] == 'Z' && len(m) == 6 && m[5] == 'I':
		c.touched = nil
	case m[0] == 'C' && string(m[5:]) == "SELECT 0\x00" && len(touched) == 1:
		// It found nothing to do: there is no answer whose loss could matter.
		c.touched, touched = nil, nil
	}
	c.mu.Unlock()
	if len(touched) == 0 || m[0] == 'E' {
		return m, false, nil
	}
	cut := c.relay.cutFor(touched, m[0] == 'Z' && m[5] == 'I')
	switch {
	case cut && m[0] == 'Z' && m[5] == 'I':
		return nil, false, errCut
	case m[0] == 'Z':
		return m, false, nil
	}
	return m, cut, nil
}

// cutFor reports whether a transaction with these statements loses its answer,
// and uses the cut up when it has committed.
func (r *Relay) cutFor(statements []string, committed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, cut := range r.armed {
		if !slices.ContainsFunc(statements, func(sql string) bool { return strings.Contains(sql, cut.fragment) }) {
			continue
		}
		if committed {
			close(cut.done)
			r.armed = slices.Delete(r.armed, i, i+1)
		}
		return true
	}
	return false
}
