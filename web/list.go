package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views"
)

// effort is how long a list goes on looking for rare matches.
const effort = 2 * time.Second

// jobs is the list of jobs that an address names.
func (s *Server) jobs(c echo.Context) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	if to, err := s.oneJob(c.Request().Context(), q.Get(views.ParamSearch)); err != nil || to != "" {
		return orRedirect(c, to, err)
	}
	p := views.JobsPage{Frame: s.frame(c)}
	p.List, err = s.listOf(c, q)
	p.Line = p.Query().String()
	if err != nil && q.Has(views.ParamSearch) {
		p.Line = q.Get(views.ParamSearch)
	}
	return s.listPage(c, p, err)
}

// oneJob is the address of the job whose id the text is, if there is one.
func (s *Server) oneJob(ctx context.Context, text string) (string, error) {
	id, ok := parseID(strings.TrimSpace(text))
	if !ok {
		return "", nil
	}
	_, err := s.cfg.Store.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return s.urls.Job(id), err
}

func orRedirect(c echo.Context, to string, err error) error {
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

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
			with, err := literally(l.Query, term.field, text)
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

// literally adds a term whose value is exactly the text.
func literally(q search.Query, field search.Field, text string) (search.Query, error) {
	one, err := search.Parse(string(field) + ":" + search.Quote(text))
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
		found, err := s.kept(c, kept)
		return found, kept, err
	}
	found, err := search.Parse(q.Get(views.ParamSearch))
	if err == nil && found.InArgs() {
		return found, "", &store.InvalidError{Field: views.ParamSearch,
			Message: "looks into args, and what jobs were given stands in no address; send the search as a form, or keep it by POST /api/v1/searches"}
	}
	return found, "", err
}

// mayAsk refuses a search in args or errors to who may not read them: who may ask
// which jobs hold a value, or which do not, can find the value out. Who may read
// those of some queues only has to name one of these.
func (s *Server) mayAsk(c echo.Context, q search.Query) error {
	if !q.Asks() {
		return nil
	}
	if err := s.require(c, store.RightReveal); err != nil {
		return err
	}
	if p := s.who(c); !q.Within(p.ActsOn) && p.Queues != nil {
		return forbidden(keptByQueue, "You may see payloads and errors of some queues only: name one of them in the search, as in queue:mail.")
	}
	return nil
}

// kept is a search that is kept, for who may ask such.
func (s *Server) kept(c echo.Context, text string) (search.Query, error) {
	if err := s.require(c, store.RightReveal); err != nil {
		return search.Query{}, err
	}
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return search.Query{}, store.ErrNoSearch
	}
	return s.cfg.Store.KeptSearch(c.Request().Context(), id)
}

// listPage shows a list, or what of it could not be understood.
func (s *Server) listPage(c echo.Context, p views.JobsPage, problem error) error {
	ctx := c.Request().Context()
	position, err := s.cfg.Store.Horizon(ctx)
	if err != nil {
		return err
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	if p.Known, err = s.cfg.Store.Known(ctx); err != nil {
		return err
	}
	if problem == nil {
		problem = s.readList(ctx, &p)
	}
	status := http.StatusOK
	if problem != nil {
		if p.Problem = listProblem(problem); p.Problem == nil {
			return problem
		}
		p.Page.Order, status = store.OrderNewest, http.StatusUnprocessableEntity
	}
	p.Position, p.Topics = unsigned(position), listTopics(p)
	return page(c, status, views.Jobs(p))
}

// readList reads the page and counts what matches, where the page does not
// already show it.
func (s *Server) readList(ctx context.Context, p *views.JobsPage) (err error) {
	f := p.Filter
	f.Effort = effort
	if p.Page, err = s.cfg.Store.Jobs(ctx, f); err != nil {
		return err
	}
	if p.Page.Next.ID == 0 && p.Page.Prev.ID == 0 {
		p.Count = store.Count{N: int64(len(p.Page.Jobs))}
		return nil
	}
	p.Count, err = s.cfg.Store.Matching(ctx, f)
	return err
}

// listProblem tells what of a list could not be understood; nil for what is no
// fault of the list.
func listProblem(err error) *views.ListProblem {
	var syntax *search.SyntaxError
	var invalid *store.InvalidError
	switch {
	case errors.As(err, &syntax):
		return &views.ListProblem{Field: string(syntax.Field), Term: syntax.Term, At: syntax.At, Message: syntax.Message}
	case errors.As(err, &invalid):
		return &views.ListProblem{Field: invalid.Field, Term: invalid.Field, Message: invalid.Message}
	}
	return nil
}

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

// keep keeps a search, unless it is the one that was kept before.
func (s *Server) keep(c echo.Context, q search.Query, before string) (string, error) {
	if err := s.require(c, store.RightReveal); err != nil {
		return "", err
	}
	if err := s.mayAsk(c, q); err != nil {
		return "", err
	}
	if before != "" {
		same, err := s.kept(c, before)
		if err == nil && same.String() == q.String() {
			return before, nil
		}
		if err != nil && !errors.Is(err, store.ErrNoSearch) {
			return "", err
		}
	}
	id, err := s.cfg.Store.KeepSearch(c.Request().Context(), q, s.actor(c))
	return id.String(), err
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
