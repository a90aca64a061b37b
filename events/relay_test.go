package events_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// relay stands between a listener and the server, and can fall silent without
// closing anything, as a network does.
type relay struct {
	net.Listener
	dial func() (net.Conn, error)

	mu    sync.Mutex
	conns []net.Conn
	mute  []chan struct{} // of the connections so far: closed when they fall silent
	n     int
	ended chan struct{}
	all   sync.WaitGroup
}

func newRelay(t *testing.T, to *pgx.ConnConfig) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, ended: make(chan struct{}), dial: func() (net.Conn, error) {
		if strings.HasPrefix(to.Host, "/") {
			return net.Dial("unix", filepath.Join(to.Host, fmt.Sprintf(".s.PGSQL.%d", to.Port)))
		}
		return net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	}}
	r.all.Add(1)
	go r.serve()
	t.Cleanup(r.close)
	return r
}

func (r *relay) serve() {
	defer r.all.Done()
	for {
		in, err := r.Accept()
		if err != nil {
			return
		}
		out, err := r.dial()
		if err != nil {
			in.Close()
			continue
		}
		mute := make(chan struct{})
		r.mu.Lock()
		r.conns = append(r.conns, in, out)
		r.mute = append(r.mute, mute)
		r.n++
		r.mu.Unlock()
		r.all.Add(2)
		go r.forward(in, out, mute)
		go r.forward(out, in, mute)
	}
}

// forward copies until an end closes; once mute it swallows and keeps both open.
func (r *relay) forward(from, to net.Conn, mute chan struct{}) {
	defer r.all.Done()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-mute:
			<-r.ended
			return
		default:
		}
		if err != nil {
			to.Close()
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			from.Close()
			return
		}
	}
}

// silence makes every connection so far half-open; new ones work.
func (r *relay) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.mute {
		close(m)
	}
	r.mute = nil
}

func (r *relay) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func (r *relay) close() {
	r.Listener.Close()
	close(r.ended)
	r.mu.Lock()
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.all.Wait()
}

// relayed is a store whose listener goes through a relay.
type relayed struct {
	*store.Store
	r *relay
}

func (s relayed) ListenConfig() *pgx.ConnConfig {
	cfg := s.Store.ListenConfig()
	at := s.r.Addr().(*net.TCPAddr)
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks = at.IP.String(), uint16(at.Port), nil, nil
	cfg.DialFunc = func(ctx context.Context, _, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
	return cfg
}
