package events

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgxlisten"

	"github.com/fenceline/fenceline/store"
)

// ApplicationName is how the listening connection shows in pg_stat_activity.
const ApplicationName = "fenceline listener"

// connectTimeout bounds a dial unless the address says otherwise.
const connectTimeout = 5 * time.Second

// line is the listening connection, if there is one.
type line struct {
	channel string   // of this hub's pings; a channel of its own, so that processes do not wake each other
	raw     net.Conn // what is closed to drop it
	number  uint64   // of connections so far
	heardAt time.Time
	ping    ping
	resend  chan struct{} // a ping is wanted now
	answers chan struct{} // the latest ping was heard
	dropped bool          // by this hub: that its read fails is no news
}

func newLine() line {
	return line{
		channel: "fenceline_ping_" + nonce(),
		resend:  make(chan struct{}, 1),
		answers: make(chan struct{}, 1),
	}
}

// listen keeps one connection listening until ctx ends.
func (h *Hub) listen(ctx context.Context) {
	l := &pgxlisten.Listener{
		Connect:        h.connect,
		LogError:       h.lineFailed,
		ReconnectDelay: h.cfg.ReconnectDelay,
	}
	l.Handle(store.ChannelTransitions, &channel{hear: h.hearTransition, open: h.gap})
	l.Handle(store.ChannelWork, &channel{hear: func(string) { nudge(h.work) }, open: func() { nudge(h.work) }})
	l.Handle(h.line.channel, &channel{hear: h.hearPing, open: func() { nudge(h.line.resend) }})
	_ = l.Listen(ctx) // ends with ctx alone
	h.hangUp()
}

// connect makes a connection that nobody else uses. It never comes from a
// pool: a pooled one that was given back would stay subscribed.
func (h *Hub) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg := h.src.ListenConfig()
	cfg.RuntimeParams["application_name"] = ApplicationName
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.raw = rawConn(conn)
	h.line.number++
	return conn, nil
}

// rawConn is the socket below any TLS: closing it never waits for the peer.
func rawConn(conn *pgx.Conn) net.Conn {
	raw := conn.PgConn().Conn()
	if t, ok := raw.(*tls.Conn); ok {
		return t.NetConn()
	}
	return raw
}

// lineFailed is told about every failure of the listening connection.
func (h *Hub) lineFailed(ctx context.Context, err error) {
	if ctx.Err() != nil || h.droppedIt() {
		return
	}
	h.hangUp()
	if h.lineIs(ListenerLost) {
		h.cfg.Log.Warn("live feed: the listening connection is lost", "err", err)
		return
	}
	h.cfg.Log.Debug("live feed: still not listening", "err", err)
}

func (h *Hub) droppedIt() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.line.dropped
	h.line.dropped = false
	return was
}

// hangUp closes the listening connection, if there is one, without asking the
// other side; the listener then makes a new one.
func (h *Hub) hangUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.line.raw != nil {
		_ = h.line.raw.Close()
		h.line.raw = nil
	}
}

// channel adapts two functions to pgxlisten. They run on the listening
// connection's goroutine, so they never block and never query: a connection
// that waits inside a handler would hold back the server's queue.
type channel struct {
	hear func(payload string)
	open func() // LISTEN is in place on a new connection
}

func (c *channel) HandleNotification(_ context.Context, n *pgconn.Notification, _ *pgx.Conn) error {
	c.hear(n.Payload)
	return nil
}

// HandleBacklog marks what must be read and leaves the reading to the reader,
// which repeats it until it succeeds: pgxlisten would only log its failure.
func (c *channel) HandleBacklog(context.Context, string, *pgx.Conn) error {
	c.open()
	return nil
}

// hearTransition notes a transaction for the next pass. Anybody may send to
// the channel, so a payload that is no transaction number is ignored.
func (h *Hub) hearTransition(payload string) {
	xid, err := strconv.ParseUint(payload, 10, 63)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hearAnything()
	h.changed()
	if err != nil || len(h.subs) == 0 {
		return
	}
	h.heard++
	h.next.add(xid)
	nudge(h.poke)
}

// gap makes the next pass read every watched job.
func (h *Hub) gap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed()
	h.heard++
	h.next.gap = true
	nudge(h.poke)
}
