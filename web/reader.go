package web

import (
	"context"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

// reader is one open stream of patches.
type reader struct {
	server *Server
	box    *outbox
	since  uint64 // the position of what it has; 0 for nothing
	lost   bool   // it has to read the page again
	leaves []func()

	positions map[string]uint64 // by topic; 0 until one is known
}

// join follows the topics. One that does not exist is left out, so that it
// does not keep a browser's other pages from being live; if none exists there
// is nothing to follow.
func (r *reader) join(c echo.Context, topics []string) error {
	var missing error
	for _, topic := range topics {
		if _, twice := r.positions[topic]; twice {
			continue
		}
		src, err := r.server.sourceOf(c, topic)
		if errors.Is(err, store.ErrNoSearch) {
			missing = err
			continue
		}
		if err != nil {
			return err
		}
		leave, err := r.server.lobby.join(c.Request().Context(), topic, src, r.box, r.since)
		if errors.Is(err, store.ErrNotFound) {
			missing = err
			continue
		}
		if err != nil {
			return err
		}
		r.leaves, r.positions[topic] = append(r.leaves, leave), r.since
	}
	if len(r.leaves) == 0 {
		return missing
	}
	return nil
}

func (r *reader) leave() {
	for _, leave := range r.leaves {
		leave()
	}
}

// run sends until the reader leaves, takes nothing for too long, or the server
// shuts down.
func (r *reader) run(c echo.Context) error {
	ctx := c.Request().Context()
	status := r.server.cfg.Hub.WatchStatus()
	defer status.Close()
	feed := <-status.C
	l, err := r.server.openLine(c)
	if err != nil {
		return gone(err)
	}
	r.server.logStream(c, "stream opened")
	if r.lost {
		l.add(0, encode(eventResync, []byte("{}")))
	}
	l.add(r.position(), r.beat(ctx, eventHello, feed))
	beat := time.NewTicker(r.server.cfg.Heartbeat)
	defer beat.Stop()
	for {
		if err := l.flush(); err != nil {
			return gone(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.server.closing:
			return gone(l.bye())
		case <-r.box.ready:
			r.forward(l)
		case feed = <-status.C:
			l.add(r.position(), r.beat(ctx, eventBeat, feed))
		case <-beat.C:
			same, err := r.server.unchanged(c)
			if !same {
				// Who reads the page again is told who they are now.
				l.add(0, encode(eventResync, []byte(`{"reason":"signed_out"}`)))
				return gone(l.flush())
			}
			if err != nil {
				r.server.cfg.Log.Warn("a stream's reader could not be looked at", keyRequestID, c.Get(keyRequestID), "error", err)
			}
			l.add(r.position(), r.beat(ctx, eventBeat, feed))
		}
	}
}

// forward puts what waits in line to be sent.
func (r *reader) forward(l *line) {
	queue, lost := r.box.take()
	if lost {
		l.add(0, encode(eventResync, []byte("{}")))
	}
	for _, m := range queue {
		if m.position > r.positions[m.source] {
			r.positions[m.source] = m.position
		}
		if len(m.event) > 0 {
			l.add(r.position(), m.event)
		}
	}
}

// position is where the stream would resume with nothing missing: where the
// topic that is furthest behind stands.
func (r *reader) position() uint64 {
	var least uint64
	first := true
	for _, p := range r.positions {
		if first || p < least {
			least, first = p, false
		}
	}
	return least
}

func (r *reader) beat(ctx context.Context, name string, feed events.Status) []byte {
	b := beatJSON{Behind: !feed.Live, Reason: string(feed.Degraded)}
	if now, err := r.server.clock.now(ctx); err == nil {
		b.Now = now.UTC().Format("2006-01-02T15:04:05.000Z")
	} else {
		b.Behind, b.Reason = true, "database_unreachable"
	}
	if p := r.position(); p > 0 {
		b.Position = unsigned(p)
	}
	return encodeJSON(name, b)
}

// gone is how a stream ends whose reader takes nothing more.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return &problem{Status: statusGone, Code: "gone", Message: "The reader left or was too slow.", cause: err}
}

func (s *Server) logStream(c echo.Context, what string) {
	s.cfg.Log.Info(what, keyRequestID, c.Get(keyRequestID), "route", c.Path())
}
