package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views"
)

type pageJSON struct {
	Jobs   []jobJSON `json:"jobs"`
	Order  string    `json:"order"`
	Next   *string   `json:"next"`   // pass as after for what follows; null at the end
	Prev   *string   `json:"prev"`   // pass as before for what comes before; null at the beginning
	Looked *int64    `json:"looked"` // the search stopped after so many jobs, and next goes on; null when it did not
}

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
	out := pageJSON{Jobs: make([]jobJSON, len(p.Jobs)), Order: string(p.Order),
		Next: orNull(p.Next.String()), Prev: orNull(p.Prev.String()), Looked: orNullNumber(int64(p.Bound))}
	for i, j := range p.Jobs {
		out.Jobs[i] = jobOf(j)
	}
	return sendJSON(c, http.StatusOK, out)
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
