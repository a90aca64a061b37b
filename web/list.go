package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views"
)

// effort is how long a list goes on looking for rare matches.
const effort = 2 * time.Second

// jobs is the list of jobs that an address names.
func (s *Server) jobs(c echo.Context) error {
	q, err := anyQuery(c)
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
