package web

import (
	"context"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// replayPage is how many transitions are read at once to bring a reader of the
// API's stream up to date.
const replayPage = 1000

// apiStream sends a job's transitions as they are, from the one behind the id
// that the reader has, or from the job's first. An id is a transition's: it
// resumes here and nowhere else.
func (s *Server) apiStream(c echo.Context) error {
	id, err := apiID(c, "a job")
	if err != nil {
		return err
	}
	q, err := query(c, "after")
	if err != nil {
		return err
	}
	after, err := cursor(q, "after")
	if err != nil {
		return err
	}
	leave, err := s.admit()
	if err != nil {
		return err
	}
	defer leave()
	if _, err := s.cfg.Store.Job(c.Request().Context(), id); err != nil {
		return err
	}
	f := &follower{server: s, job: id, after: after}
	if err := f.resume(c); err != nil {
		return err
	}
	return f.run(c)
}

// follower is one open stream of a job's transitions.
type follower struct {
	server *Server
	job    int64
	after  int64 // the id of the last transition sent
	lost   bool  // what it asked to resume behind is not one of this job's
	line   *line
}

// resume takes the id that the reader remembers from the stream. Behind an id
// that is not one of the job's nobody can say what is missing: it is told to
// begin again, and is given everything.
func (f *follower) resume(c echo.Context) error {
	if last := c.Request().Header.Get("Last-Event-ID"); last != "" {
		id, ok := parseID(last)
		f.after, f.lost = id, !ok && last != "0"
	}
	if f.after == 0 {
		return nil
	}
	found, err := f.server.cfg.Store.Transitions(c.Request().Context(), f.job, f.after-1, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].ID != f.after {
		f.after, f.lost = 0, true
	}
	return nil
}

func (f *follower) run(c echo.Context) (err error) {
	ctx := c.Request().Context()
	if f.line, err = f.server.openLine(c); err != nil {
		return gone(err)
	}
	f.server.logStream(c, "stream opened")
	if f.lost {
		f.line.add(0, []byte("id\n"))
		f.line.add(0, encode(eventResync, []byte(`{"reason":"the id to resume behind is not one of this job's transitions"}`)))
	}
	for ctx.Err() == nil {
		err := f.follow(ctx, c)
		switch {
		case errors.Is(err, events.ErrClosed):
			return gone(f.line.bye())
		case errors.Is(err, events.ErrTooFar), errors.Is(err, events.ErrSlow):
			continue
		default:
			return gone(err)
		}
	}
	return nil
}

// errReaderChanged ends a stream whose reader may not have it any more.
var errReaderChanged = errors.New("the reader is not who opened the stream")

// follow reads up to now and then sends what happens.
func (f *follower) follow(ctx context.Context, c echo.Context) error {
	if err := f.replay(ctx); err != nil {
		return err
	}
	sub, err := f.server.cfg.Hub.Watch(ctx, []int64{f.job}, events.From{After: map[int64]int64{f.job: f.after}})
	if err != nil {
		return err
	}
	defer sub.Close()
	beat := time.NewTicker(f.server.cfg.Heartbeat)
	defer beat.Stop()
	f.line.add(0, f.beat(ctx))
	for {
		if err := f.line.flush(); err != nil {
			return err
		}
		select {
		case <-f.server.closing:
			return events.ErrClosed
		case d, open := <-sub.C:
			if !open {
				return sub.Err()
			}
			f.send(d.Transitions)
		case <-beat.C:
			if same, _ := f.server.unchanged(c); !same {
				return errReaderChanged
			}
			f.line.add(0, f.beat(ctx))
		}
	}
}

// replay sends whatever the reader misses, however much that is.
func (f *follower) replay(ctx context.Context) error {
	for {
		missed, err := f.server.cfg.Store.Transitions(ctx, f.job, f.after, replayPage)
		if err != nil {
			return err
		}
		f.send(missed)
		if err := f.line.flush(); err != nil || len(missed) < replayPage {
			return err
		}
	}
}

func (f *follower) send(transitions []store.Transition) {
	for _, t := range transitions {
		if t.ID > f.after {
			f.line.add(uint64(t.ID), encodeJSON(eventTransition, wire.TransitionOf(t)))
			f.after = t.ID
		}
	}
}

func (f *follower) beat(ctx context.Context) []byte {
	feed := f.server.cfg.Hub.Status()
	b := beatJSON{Behind: !feed.Live, Reason: string(feed.Degraded)}
	if now, err := f.server.clock.now(ctx); err == nil {
		b.Now = wire.Instant(now)
	}
	return encodeJSON(eventBeat, b)
}
