package web

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views"
)

// listOf reads the parameters of a list. Where one cannot be understood the
// list holds the others, for the form to show.
func (s *Server) listOf(c echo.Context, q url.Values) (views.List, error) {
	var l views.List
	var problems []error
	note := func(err error) { problems = append(problems, err) }
	var err error
	l.Query, l.Kept, err = s.searchOf(c, q)
	note(err)
	for _, term := range []struct {
		param string
		field search.Field
	}{{views.ParamState, search.State}, {views.ParamKind, search.Kind}, {views.ParamQueue, search.Queue}, {views.ParamKey, search.Key}} {
		if text := q.Get(term.param); text != "" {
			with, err := literally(l.Query, term.param, term.field, text)
			note(err)
			l.Query = with
		}
	}
	note(s.mayAsk(c, l.Query))
	l.Order = store.Order(q.Get(views.ParamOrder))
	l.Limit, err = number(q, views.ParamLimit, 0, store.MaxPage)
	note(err)
	l.Columns, err = columnsOf(q.Get(views.ParamColumns))
	note(err)
	l.After, err = place(q, views.ParamAfter)
	note(err)
	l.Before, err = place(q, views.ParamBefore)
	note(err)
	return l, errors.Join(problems...)
}

// literally adds a term whose value is exactly the text of a parameter.
func literally(q search.Query, param string, field search.Field, text string) (search.Query, error) {
	one, err := search.Parse(string(field) + ":" + search.Quote(text))
	if syntax := (*search.SyntaxError)(nil); errors.As(err, &syntax) {
		return q, &store.InvalidError{Field: param, Message: syntax.Message}
	}
	if err != nil {
		return q, err
	}
	return search.Query{Terms: append(slices.Clone(q.Terms), one.Terms...)}, nil
}

func place(q url.Values, name string) (store.Place, error) {
	p, err := store.ParsePlace(q.Get(name))
	if invalid := (*store.InvalidError)(nil); errors.As(err, &invalid) {
		return p, &store.InvalidError{Field: name, Message: invalid.Message}
	}
	return p, err
}

func columnsOf(text string) ([]views.Column, error) {
	if text == "" {
		return nil, nil
	}
	var out []views.Column
	for _, name := range strings.Split(text, ",") {
		if !slices.Contains(views.AllColumns, views.Column(name)) {
			return nil, &store.InvalidError{Field: views.ParamColumns, Message: "must be names of columns with commas between"}
		}
		out = append(out, views.Column(name))
	}
	return out, nil
}

// searchOf reads the search that an address holds, or the id of.
func (s *Server) searchOf(c echo.Context, q url.Values) (search.Query, string, error) {
	if kept := q.Get(views.ParamKept); kept != "" {
		found, _, err := s.kept(c, kept)
		return found, kept, err
	}
	found, err := search.Parse(q.Get(views.ParamSearch))
	if err == nil && found.InArgs() {
		return found, "", &store.InvalidError{Field: views.ParamSearch,
			Message: "looks into args, and what jobs were given stands in no address; send the search as a form, or keep it by POST /api/v1/searches"}
	}
	return found, "", err
}
