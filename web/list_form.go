package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views"
)

// search reads the search form and leads to the list that it asks for. What
// may not stand in an address is kept, and the address names it.
func (s *Server) search(c echo.Context) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	line := sent.Get(views.ParamSearch)
	if to, err := s.oneJob(c.Request().Context(), line); err != nil || to != "" {
		return orRedirect(c, to, err)
	}
	p := views.JobsPage{Frame: s.frame(c), Line: line}
	p.List, err = searchedFor(sent)
	if err != nil {
		return s.listPage(c, p, err)
	}
	if p.Query().InArgs() {
		if p.Kept, err = s.keep(c, p.Query(), sent.Get(views.ParamKept)); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, s.urls.List(p.List))
}

// searchedFor reads the line and the controls. A control counts where it was
// changed since the form was made.
func searchedFor(sent url.Values) (views.List, error) {
	var l views.List
	var err error
	l.Query, err = search.Parse(typed(sent.Get(views.ParamSearch)))
	was, _ := search.Parse(sent.Get(views.FieldWas))
	for _, field := range views.Controls() {
		name := views.FieldControl + string(field)
		value := strings.TrimSpace(sent.Get(name))
		if err != nil || !sent.Has(name) || value == was.ValueOf(field) {
			continue
		}
		l.Query, err = l.Query.With(field, value)
	}
	if syntax := (*search.SyntaxError)(nil); errors.As(err, &syntax) && !strings.Contains(sent.Get(views.ParamSearch), syntax.Term) {
		syntax.At = 0 // it stands in a control
	}
	if order := sent.Get(views.ParamOrder); slices.Contains(store.Orders, store.Order(order)) {
		l.Order = store.Order(order)
	}
	if n, bad := strconv.Atoi(sent.Get(views.ParamLimit)); bad == nil && n > 0 && n <= store.MaxPage && n != 50 {
		l.Limit = n
	}
	for _, column := range views.AllColumns {
		if sent.Get(views.FieldColumn+string(column)) != "" {
			l.Columns = append(l.Columns, column)
		}
	}
	return l, err
}

// typed is a line as somebody means it: a number that is no job's id is a key.
func typed(line string) string {
	if word := strings.TrimSpace(line); word != "" {
		if _, ok := parseID(word); ok {
			return "key:" + word
		}
	}
	return line
}
