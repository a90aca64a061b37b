package events

import (
	"context"
	"fmt"
	"time"
)

// ping is the latest proof asked of the listening connection.
type ping struct {
	nonce   string
	horizon uint64 // read before it was sent: once it is heard, nothing older is under way
	sentAt  time.Time
}

// prove sends pings through the database until ctx ends. A connection on which
// nothing is heard after one was sent is dropped: waiting for a notification
// is a plain read, so a half-open connection never fails by itself.
func (h *Hub) prove(ctx context.Context) {
	every := time.NewTicker(h.cfg.PingEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-h.line.resend:
		}
		if number, up := h.lineNumber(); up {
			h.proveOnce(ctx, number)
		}
	}
}

func (h *Hub) lineNumber() (uint64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.line.number, h.line.raw != nil
}

func (h *Hub) proveOnce(ctx context.Context, number uint64) {
	sentAt, err := h.sendPing(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		// Nothing is proven: what failed is another connection, not the listening one.
		h.unreachable(err)
		return
	}
	patience := time.NewTimer(h.cfg.DeadAfter - h.cfg.PingEvery)
	defer patience.Stop()
	select {
	case <-ctx.Done():
	case <-h.line.answers:
	case <-h.line.resend: // a new connection; its own ping decides
		nudge(h.line.resend)
	case <-patience.C:
		h.giveUp(number, sentAt)
	}
}

// sendPing reads the horizon and sends a fresh nonce to this hub's channel.
func (h *Hub) sendPing(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	horizon, err := h.src.Horizon(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the horizon: %w", err)
	}
	p := ping{nonce: nonce(), horizon: horizon, sentAt: time.Now()}
	h.mu.Lock()
	h.line.ping = p
	select { // an answer to an earlier ping says nothing about this one
	case <-h.line.answers:
	default:
	}
	h.mu.Unlock()
	if err := h.src.Notify(ctx, h.line.channel, p.nonce); err != nil {
		return time.Time{}, fmt.Errorf("send a ping: %w", err)
	}
	return p.sentAt, nil
}

// hearPing runs in order with the transitions' notifications, so what it
// leaves for the next pass covers all of those before it.
func (h *Hub) hearPing(payload string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hearAnything()
	if payload != h.line.ping.nonce {
		return
	}
	nudge(h.line.answers)
	h.health.horizon(h.line.ping)
	if len(h.subs) == 0 {
		return
	}
	h.next.barrier = h.line.ping.horizon
	nudge(h.poke)
}

// hearAnything notes that the listening connection is alive. Notifications are
// handled only after every LISTEN is in place.
func (h *Hub) hearAnything() {
	h.line.heardAt = time.Now()
	if h.line.raw != nil {
		h.setLine("")
	}
}

// giveUp drops connection number if it stayed silent since a ping was sent.
func (h *Hub) giveUp(number uint64, since time.Time) {
	if !h.dropSilent(number, since) {
		return
	}
	h.cfg.Log.Warn("live feed: the listening connection is silent and is made anew",
		"reason", "a notification sent through the database did not arrive")
}

func (h *Hub) dropSilent(number uint64, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.line.raw == nil || h.line.number != number || !h.line.heardAt.Before(since) {
		return false
	}
	h.setLine(ListenerSilent)
	_ = h.line.raw.Close()
	h.line.raw, h.line.dropped = nil, true
	return true
}

func (h *Hub) unreachable(err error) {
	if h.lineIs(DatabaseUnreachable) {
		h.cfg.Log.Warn("live feed: the listening connection cannot be checked", "err", err)
	}
}
