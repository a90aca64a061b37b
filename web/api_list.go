package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

func (s *Server) apiList(c echo.Context) error {
	q, err := query(c, views.ParamSearch, views.ParamKept, views.ParamState, views.ParamKind, views.ParamQueue, views.ParamKey,
		views.ParamOrder, views.ParamLimit, views.ParamAfter, views.ParamBefore)
	if err != nil {
		return err
	}
	if q.Get(views.ParamKept) != "" && q.Get(views.ParamSearch) != "" {
		return &store.InvalidError{Field: views.ParamKept, Message: "cannot be given together with q"}
	}
	l, err := s.listOf(c, q)
	if err != nil {
		return err
	}
	if l.Limit == 0 {
		l.Limit = defaultPage
	}
	l.Effort = effort
	p, err := s.cfg.Store.Jobs(c.Request().Context(), l.Filter)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.PageOf(p))
}

type searchJSON struct {
	ID string `json:"id"` // pass as search to the list of jobs
	Q  string `json:"q"`  // the search in its one form
}

// apiKeep keeps a search for a program, as the form does for a person.
func (s *Server) apiKeep(c echo.Context) error {
	var line string
	if err := readJSON(c, fields{"q": text(&line)}); err != nil {
		return err
	}
	q, err := search.Parse(line)
	if err != nil {
		return err
	}
	id, err := s.keep(c, q, "")
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusCreated, searchJSON{ID: id, Q: q.String()})
}
