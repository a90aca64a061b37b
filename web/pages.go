package web

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

func (s *Server) home(c echo.Context) error {
	ctx := c.Request().Context()
	if at := c.QueryParam(views.ParamAt); at != "" {
		return s.past(c, at)
	}
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
	id, err := pathID(c, store.ErrNotFound)
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.JobView(c.Request().Context(), id)
	if err != nil {
		return err
	}
	p := s.jobPage(s.frame(c), view)
	if p.Ahead, err = s.ahead(c.Request().Context(), view.Job); err != nil {
		return err
	}
	p.Position = unsigned(view.Horizon)
	p.Zoom, _ = parseID(c.QueryParam(views.ParamZoom))
	p.Full = c.QueryParam(views.ParamFull) == "1"
	return page(c, http.StatusOK, views.Job(p))
}

// ahead looks at what a waiting job can expect.
func (s *Server) ahead(ctx context.Context, j store.Job) (store.Prospects, error) {
	if j.State.Terminal() || j.State == store.Running {
		return store.Prospects{}, nil
	}
	return s.cfg.Store.Prospects(ctx, j.Queue, j.Kind)
}

// jobPage is what the page and its live patches are both made from.
func (s *Server) jobPage(f views.Frame, view store.JobView) views.JobPage {
	f.Now, f.Topics = view.Now, []string{views.TopicJob(view.Job.ID)}
	if f.Limits.WhyNotReveal(view.Job.Queue) != "" {
		view.Errors = view.Kept
	}
	return views.JobPage{Frame: f, View: view}
}

// unsigned is the text of a position in the feed.
func unsigned(n uint64) string { return strconv.FormatUint(n, 10) }

// parsePosition reads a position; one that a database cannot have reached yet
// is told apart later.
func parsePosition(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && n <= math.MaxInt64
}
