package web

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

func (s *Server) home(c echo.Context) error {
	ctx := c.Request().Context()
	// Read before the page, so that what happens in between is sent again.
	position, err := s.cfg.Store.Horizon(ctx)
	if err != nil {
		return err
	}
	home, err := s.cfg.Store.Home(ctx)
	if err != nil {
		return err
	}
	p := views.HomePage{Frame: s.frame(c), Home: home}
	p.Now, p.Position, p.Topics = home.Now, unsigned(position), []string{views.TopicHome}
	return page(c, http.StatusOK, views.Home(p))
}

func (s *Server) job(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.JobView(c.Request().Context(), id)
	if err != nil {
		return err
	}
	p := s.jobPage(s.frame(c), view)
	p.Position = unsigned(view.Horizon)
	p.Zoom, _ = parseID(c.QueryParam(views.ParamZoom))
	p.Full = c.QueryParam(views.ParamFull) == "1"
	return page(c, http.StatusOK, views.Job(p))
}

// jobPage is what the page and its live patches are both made from.
func (s *Server) jobPage(f views.Frame, view store.JobView) views.JobPage {
	f.Now, f.Topics = view.Now, []string{views.TopicJob(view.Job.ID)}
	return views.JobPage{Frame: f, View: view}
}

func (s *Server) jobs(c echo.Context) error {
	q, err := query(c)
	if err != nil {
		return err
	}
	p := views.JobsPage{Frame: s.frame(c)}
	p.Search = q.Get(views.ParamSearch)
	if id, ok := parseID(p.Search); ok {
		if _, err := s.cfg.Store.Job(c.Request().Context(), id); err == nil {
			return c.Redirect(http.StatusSeeOther, s.urls.Job(id))
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.jobsPage(c, p, q)
}

func (s *Server) jobsPage(c echo.Context, p views.JobsPage, q url.Values) error {
	ctx := c.Request().Context()
	position, err := s.cfg.Store.Horizon(ctx)
	if err != nil {
		return err
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	status := http.StatusOK
	if p.Filter, err = jobsFilter(q); err == nil {
		p.Page, err = s.cfg.Store.Jobs(ctx, p.Filter)
	}
	if invalid := (*store.InvalidError)(nil); errors.As(err, &invalid) {
		p.Problem, status = invalid, http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	p.Position, p.Topics = unsigned(position), listTopics(p)
	return page(c, status, views.Jobs(p))
}

// jobsFilter reads the filter form. Where a field cannot be understood the
// filter holds the others, for the form to show.
func jobsFilter(q url.Values) (store.Filter, error) {
	f := store.Filter{
		State: store.State(q.Get(views.ParamState)),
		Kind:  q.Get(views.ParamKind), Queue: q.Get(views.ParamQueue), Key: q.Get(views.ParamKey),
	}
	if search := q.Get(views.ParamSearch); search != "" {
		f.Key = search
	}
	var err error
	if f.Before, err = cursor(q, views.ParamBefore); err != nil {
		return f, err
	}
	return f, nil
}

// unsigned is the text of a position in the feed.
func unsigned(n uint64) string { return strconv.FormatUint(n, 10) }

// parsePosition reads a position; one that a database cannot have reached yet
// is told apart later.
func parsePosition(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && n <= math.MaxInt64
}
