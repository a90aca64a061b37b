package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// beatJSON is what a beat carries: the time on the database's clock, where the
// stream would resume, and whether it is brought up to date as it should be.
type beatJSON struct {
	Now      string `json:"now,omitempty"`
	Position string `json:"position,omitempty"`
	Behind   bool   `json:"behind"`
	Reason   string `json:"reason,omitempty"`
}

// stream sends live patches of the topics that the page follows, from the
// position on at which the page was read.
func (s *Server) stream(c echo.Context) error {
	topics, after, err := s.asked(c)
	if err != nil {
		return err
	}
	leave, err := s.admit()
	if err != nil {
		return err
	}
	defer leave()
	r := &reader{server: s, box: newOutbox(), positions: map[string]uint64{}}
	defer r.leave()
	ctx := c.Request().Context()
	if r.since, r.lost, err = s.reached(ctx, after); err != nil {
		return err
	}
	if err := r.join(c, topics); err != nil {
		return err
	}
	return r.run(c)
}

// asked reads the topics and the position of a stream. What the browser
// remembers from the stream itself comes before what the page began with.
func (s *Server) asked(c echo.Context) (topics []string, after string, err error) {
	q, err := anyQuery(c)
	if err != nil {
		return nil, "", err
	}
	topics = q[views.ParamTopic]
	switch {
	case len(topics) == 0:
		return nil, "", &store.InvalidError{Field: views.ParamTopic, Message: "is required: home, jobs, or job: and a job's id"}
	case len(topics) > maxTopics:
		return nil, "", &store.InvalidError{Field: views.ParamTopic, Message: "is given more than " + decimal(maxTopics) + " times"}
	}
	after = q.Get(views.ParamAfter)
	if id := c.Request().Header.Get("Last-Event-ID"); id != "" {
		after = id
	}
	return topics, after, nil
}

// reached reads a position to resume from. One that this database cannot have
// given is lost: the reader is told to read its page again.
func (s *Server) reached(ctx context.Context, text string) (position uint64, lost bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	position, ok := parsePosition(text)
	if !ok {
		return 0, true, nil
	}
	horizon, err := s.cfg.Store.Horizon(ctx)
	if err != nil {
		return 0, false, err
	}
	if position > horizon {
		return 0, true, nil
	}
	return position, false, nil
}

// admit counts the streams that are open.
func (s *Server) admit() (leave func(), err error) {
	select {
	case <-s.closing:
		return nil, events.ErrClosed
	default:
	}
	if n := s.streams.Add(1); n > int64(s.cfg.MaxStreams) {
		s.streams.Add(-1)
		return nil, &problem{Status: http.StatusServiceUnavailable, Code: "too_many_streams", Message: "Too many streams are open here.", Retry: 5 * time.Second}
	}
	return func() { s.streams.Add(-1) }, nil
}
