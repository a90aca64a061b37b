package relay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

func pgconnNetwork(host string, port uint16) (network, address string) {
	if strings.HasPrefix(host, "/") {
		return "unix", filepath.Join(host, fmt.Sprintf(".s.PGSQL.%d", port))
	}
	return "tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// conn is one client's session.
type conn struct {
	relay          *Relay
	client, server net.Conn
	closed         chan struct{}
	once           sync.Once

	mu       sync.Mutex
	quiet    chan struct{}     // closed when it fell silent
	prepared map[string]string // statements by name
	touched  []string          // statements that run in the open transaction
}

func newConn(r *Relay, client, server net.Conn) *conn {
	return &conn{relay: r, client: client, server: server, closed: make(chan struct{}),
		quiet: make(chan struct{}), prepared: map[string]string{}}
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.closed)
		c.client.Close()
		c.server.Close()
	})
}

func (c *conn) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.quiet:
	default:
		close(c.quiet)
	}
}

func (c *conn) muted() bool {
	select {
	case <-c.quiet:
		return true
	default:
		return false
	}
}

func (c *conn) run() {
	var down sync.WaitGroup
	down.Go(func() {
		defer c.close()
		c.pass(c.client, c.server, c.answered)
	})
	defer down.Wait()
	defer c.close()
	// The first message has no type.
	head := make([]byte, 4)
	if _, err := io.ReadFull(c.client, head); err != nil {
		return
	}
	first, err := message(c.client, head)
	if err != nil || !c.mayPass() {
		return
	}
	if _, err := c.server.Write(first); err == nil {
		c.pass(c.server, c.client, c.asked)
	}
}

// mayPass waits while the connection is slow, and until its end when it is
// silent.
func (c *conn) mayPass() bool {
	if d := c.relay.slowness(); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed:
		}
	}
	if c.muted() {
		<-c.closed
	}
	select {
	case <-c.closed:
		return false
	default:
		return true
	}
}

// pass carries messages from one side to the other. See looks at each, may
// change it, and says whether it waits with the others for a later one; an
// error ends the connection with all that waits unsent.
func (c *conn) pass(to io.Writer, from io.Reader, see func([]byte) ([]byte, bool, error)) {
	in := bufio.NewReaderSize(from, 32<<10)
	var out []byte
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		m, err := message(in, head)
		if err != nil {
			return
		}
		m, wait, err := see(m)
		if err != nil {
			return
		}
		out = append(out, m...)
		if wait || (in.Buffered() > 0 && len(out) < 64<<10) {
			continue
		}
		if !c.mayPass() {
			return
		}
		if _, err := to.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}

// message reads the rest of a message whose last four header bytes are its
// length, and returns all of it.
func message(from io.Reader, head []byte) ([]byte, error) {
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if size < 0 || size > 64<<20 {
		return nil, errors.New("not a message")
	}
	all := make([]byte, len(head)+size)
	copy(all, head)
	_, err := io.ReadFull(from, all[len(head):])
	return all, err
}

// asked sees what the client sends.
func (c *conn) asked(m []byte) ([]byte, bool, error) {
	switch m[0] {
	case 'P': // Parse: name, statement, parameters
		name, rest, _ := strings.Cut(string(m[5:]), "\x00")
		sql, parameters, _ := strings.Cut(rest, "\x00")
		if c.relay.rewrite != nil {
			sql = c.relay.rewrite(sql)
			m = parse(name, sql, parameters)
		}
		c.mu.Lock()
		c.prepared[name] = sql
		c.mu.Unlock()
	case 'B': // Bind: portal, statement, parameters
		_, rest, _ := strings.Cut(string(m[5:]), "\x00")
		name, _, _ := strings.Cut(rest, "\x00")
		c.mu.Lock()
		c.touched = append(c.touched, c.prepared[name])
		c.mu.Unlock()
	}
	return m, false, nil
}

func parse(name, sql, parameters string) []byte {
	body := name + "\x00" + sql + "\x00" + parameters
	out := make([]byte, 5, 5+len(body))
	out[0] = 'P'
	binary.BigEndian.PutUint32(out[1:], uint32(len(body)+4))
	return append(out, body...)
}
