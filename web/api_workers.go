package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

func (s *Server) apiWorkers(c echo.Context) error {
	q, err := query(c, "id")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if q.Has("id") {
		v, err := s.cfg.Store.Worker(ctx, q.Get("id"))
		if err != nil {
			return sentAs("id", store.ScopeWorker, err)
		}
		return sendJSON(c, http.StatusOK, wire.WorkerViewOf(v))
	}
	v, err := s.cfg.Store.Workers(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.WorkersOf(v))
}
