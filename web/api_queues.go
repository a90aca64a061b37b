package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

func (s *Server) apiQueues(c echo.Context) error {
	q, err := query(c, "name", "kind")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	switch {
	case q.Has("name") && q.Has("kind"):
		return &store.InvalidError{Field: "kind", Message: "cannot be given together with name"}
	case q.Has("name"):
		v, err := s.cfg.Store.Queue(ctx, q.Get("name"))
		if err != nil {
			return sentAs("name", store.ScopeQueue, err)
		}
		return sendJSON(c, http.StatusOK, wire.QueueViewOf(v))
	case q.Has("kind"):
		v, err := s.cfg.Store.Kind(ctx, q.Get("kind"))
		if err != nil {
			return err
		}
		return sendJSON(c, http.StatusOK, wire.KindViewOf(v))
	}
	v, err := s.cfg.Store.Queues(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.QueuesOf(v))
}
