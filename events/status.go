package events

import "time"

// Degraded says why the feed is not live.
type Degraded string

// What keeps the feed from being live. In each case but the last it heals by
// itself, and meanwhile the watched jobs are polled.
const (
	Connecting          Degraded = "connecting"           // no connection has listened yet
	ListenerLost        Degraded = "listener_lost"        // the listening connection failed or cannot be made
	ListenerSilent      Degraded = "listener_silent"      // notifications do not arrive: half-open, or a pooler in between
	DatabaseUnreachable Degraded = "database_unreachable" // the listening connection cannot be checked
	ReadsFailing        Degraded = "reads_failing"        // notifications arrive, the transitions cannot be read
	FeedClosed          Degraded = "closed"               // the process ends
)

// Status is how the feed does, for pages and health checks. Its instants are
// this process's clock.
type Status struct {
	Live          bool          // notifications arrive and are read
	Degraded      Degraded      // empty exactly when Live
	Since         time.Time     // when Live or Degraded last changed
	LastHeard     time.Time     // when anything last arrived on the listening connection; zero before the first
	Behind        time.Duration // how long ago the resume position stopped moving; 0 while it moves. A long-open writing transaction anywhere in the cluster holds it back; deliveries go on
	Watchers      int           // jobs watched
	Subscriptions int
	Connections   int64 // listening connections made so far, the first included
}

// health is what Status is made of, under the hub's lock.
type health struct {
	closed     bool
	line, read Degraded
	since      time.Time
	told       Degraded // the latest that was announced
	newest     uint64   // the newest horizon of a ping that was heard
	movedAt    time.Time
}

func newHealth() health {
	now := time.Now()
	return health{line: Connecting, told: Connecting, since: now, movedAt: now}
}

func (s *health) degraded() Degraded {
	switch {
	case s.closed:
		return FeedClosed
	case s.line != "":
		return s.line
	}
	return s.read
}

// horizon notes a ping that was heard. Each ping is a transaction of its own,
// so without a transaction held open the horizon passes the one before it.
func (s *health) horizon(p ping) {
	if p.horizon > s.newest {
		s.newest, s.movedAt = p.horizon, p.sentAt
	}
}

// Status reports how the feed does now.
func (h *Hub) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status()
}

func (h *Hub) status() Status {
	why := h.health.degraded()
	s := Status{
		Live: why == "", Degraded: why, Since: h.health.since, LastHeard: h.line.heardAt,
		Watchers: len(h.jobs), Subscriptions: len(h.subs), Connections: int64(h.line.number),
	}
	// Between two pings the horizon is not looked at, so only more than that is a lag.
	if behind := time.Since(h.health.movedAt); behind > 2*h.cfg.PingEvery {
		s.Behind = behind
	}
	return s
}

// setLine and setRead need the lock; they report whether anything changed.
func (h *Hub) setLine(why Degraded) bool {
	changed := h.health.line != why
	h.health.line = why
	h.announce()
	return changed
}

func (h *Hub) setRead(why Degraded) bool {
	changed := h.health.read != why
	h.health.read = why
	h.announce()
	return changed
}

// lineIs takes the lock itself.
func (h *Hub) lineIs(why Degraded) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.setLine(why)
}

// announce tells the status watchers when Live or Degraded changed.
func (h *Hub) announce() {
	why := h.health.degraded()
	if why == h.health.told {
		return
	}
	h.health.told, h.health.since = why, time.Now()
	for w := range h.watchers {
		w.tell(h.status())
	}
}

// StatusWatch receives the feed's changes of status.
type StatusWatch struct {
	// C holds the newest status that was not received yet; older ones are
	// replaced. The current status is in it from the start. It is never closed.
	C   <-chan Status
	c   chan Status
	hub *Hub
}

// WatchStatus tells each change of Live or Degraded, beginning with what holds
// now. Close it when done.
func (h *Hub) WatchStatus() *StatusWatch {
	c := make(chan Status, 1)
	w := &StatusWatch{C: c, c: c, hub: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	w.tell(h.status())
	return w
}

// Close ends the watch. Repeats do nothing.
func (w *StatusWatch) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}

// tell needs the hub's lock: with one sender, taking out the old status makes
// room for the new one.
func (w *StatusWatch) tell(s Status) {
	select {
	case <-w.c:
	default:
	}
	w.c <- s
}
