package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

const routeAPIPast = "/api/v1/past"

// past shows the triage page of a minute that is over.
func (s *Server) past(c echo.Context, text string) (err error) {
	p := views.PastPage{Frame: s.frame(c)}
	if p.View, err = s.pastOf(c.Request().Context(), text); err != nil {
		return err
	}
	p.Now = p.View.Now
	return page(c, http.StatusOK, views.Past(p))
}

func (s *Server) pastOf(ctx context.Context, text string) (store.Past, error) {
	now, err := s.clock.now(ctx)
	if err != nil {
		return store.Past{}, err
	}
	at, err := store.ParseMinute(text, now)
	if err != nil {
		return store.Past{}, err
	}
	return s.cfg.Store.Past(ctx, at)
}

func (s *Server) apiPast(c echo.Context) error {
	q, err := query(c, views.ParamAt)
	if err != nil {
		return err
	}
	p, err := s.pastOf(c.Request().Context(), q.Get(views.ParamAt))
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.PastOf(p))
}
