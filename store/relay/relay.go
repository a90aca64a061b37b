package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Dial opens a connection to the real server.
type Dial func(context.Context) (net.Conn, error)

// To dials the server of a connection string, over its socket or TCP.
func To(address string) (Dial, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	network, place := pgconnNetwork(cfg.Host, cfg.Port)
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, network, place) }, nil
}

// Relay listens on a TCP port of the loopback interface.
type Relay struct {
	listener net.Listener
	rewrite  func(sql string) string
	dial     Dial
	life     context.Context
	end      context.CancelFunc
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[*conn]struct{}
	refuse bool
	silent bool
	delay  time.Duration
	armed  []*Cut
}

// New starts a relay. Rewrite, which may be nil, changes each statement that is
// prepared through it.
func New(dial Dial, rewrite func(sql string) string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the relay: %w", err)
	}
	r := &Relay{listener: l, rewrite: rewrite, dial: dial, conns: map[*conn]struct{}{}}
	r.life, r.end = context.WithCancel(context.Background())
	r.wg.Go(r.accept)
	return r, nil
}

// URL is address, leading through the relay.
func (r *Relay) URL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("database URL: it must begin with postgres://")
	}
	at := r.listener.Addr().(*net.TCPAddr)
	q := u.Query()
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = at.String(), q.Encode()
	return u.String(), nil
}

// Config is cfg, leading through the relay.
func (r *Relay) Config(cfg *pgx.ConnConfig) *pgx.ConnConfig {
	cfg = cfg.Copy()
	at := r.listener.Addr().(*net.TCPAddr)
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks = at.IP.String(), uint16(at.Port), nil, nil
	cfg.DialFunc = new(net.Dialer).DialContext
	return cfg
}

// Close ends every connection and returns when all is given back.
func (r *Relay) Close() {
	r.listener.Close()
	r.end()
	r.Cut()
	r.wg.Wait()
}

// Cut closes every connection, as a router does that restarts.
func (r *Relay) Cut() {
	for _, c := range r.current() {
		c.close()
	}
}

// Refuse closes new connections at once while on.
func (r *Relay) Refuse(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = on
}

// Silence makes every connection half-open: nothing passes any more, nobody is
// told. They stay so; with on, new connections are silent too until it is
// called without.
func (r *Relay) Silence(on bool) {
	r.mu.Lock()
	r.silent = on
	r.mu.Unlock()
	for _, c := range r.current() {
		c.mute()
	}
}

// Mend closes what [Relay.Silence] left half-open and lets new connections be.
func (r *Relay) Mend() {
	r.mu.Lock()
	r.silent = false
	r.mu.Unlock()
	for _, c := range r.current() {
		if c.muted() {
			c.close()
		}
	}
}

// Slow holds each message back for d, in both directions; 0 ends it.
func (r *Relay) Slow(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = d
}

func (r *Relay) slowness() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.delay
}

func (r *Relay) current() []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*conn, 0, len(r.conns))
	for c := range r.conns {
		out = append(out, c)
	}
	return out
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.serve(client) })
	}
}

// serve carries one connection until either side ends it.
func (r *Relay) serve(client net.Conn) {
	defer client.Close()
	r.mu.Lock()
	refuse, silent := r.refuse, r.silent
	r.mu.Unlock()
	if refuse || r.life.Err() != nil {
		return
	}
	server, err := r.dial(r.life)
	if err != nil {
		return
	}
	defer server.Close()
	c := newConn(r, client, server)
	if silent {
		c.mute()
	}
	r.mu.Lock()
	r.conns[c] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
	}()
	if r.life.Err() != nil {
		return
	}
	c.run()
}
