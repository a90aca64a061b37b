package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

const (
	routeAPINotices   = "/api/v1/notices"
	routeAPITryNotice = "/api/v1/notices/test"
)

// targets is who is told of incidents, with what each was told last.
func (s *Server) targets(ctx context.Context) ([]views.NoticeTarget, error) {
	out := []views.NoticeTarget{}
	if len(s.cfg.Notices) == 0 {
		return out, nil
	}
	names := make([]string, len(s.cfg.Notices))
	for n, r := range s.cfg.Notices {
		names[n] = r.Target
	}
	told, err := s.cfg.Store.Told(ctx, names)
	for _, r := range s.cfg.Notices {
		out = append(out, views.NoticeTarget{Rule: r, Told: told[r.Target]})
	}
	return out, err
}

// try sends a test to a target that is configured here.
func (s *Server) try(c echo.Context, target string) (job int64, err error) {
	for _, r := range s.cfg.Notices {
		if r.Target != target {
			continue
		}
		body, err := r.Test(time.Now(), s.cfg.Console, s.actor(c))
		if err != nil {
			return 0, err
		}
		return s.cfg.Store.TellAnyway(c.Request().Context(), target, body, s.actor(c))
	}
	return 0, &store.InvalidError{Field: views.FieldTarget, Message: "names nobody whom this server's configuration tells of incidents"}
}

func (s *Server) tryNotice(c echo.Context) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	job, err := s.try(c, sent.Get(views.FieldTarget))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.urls.JobDone(job, views.FlashTold))
}

type quietJSON struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Zone     string `json:"zone"`
	Severity string `json:"severity"`
}

type noticeJSON struct {
	Target   string     `json:"target"`
	Format   string     `json:"format"`
	Severity string     `json:"severity"`
	Every    *string    `json:"every"`
	Quiet    *quietJSON `json:"quiet"`
	ToldAt   *string    `json:"told_at"`
	ToldBy   *string    `json:"told_by"` // the job that told it last
}

func (s *Server) apiNotices(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	all, err := s.targets(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]noticeJSON, len(all))
	for n, t := range all {
		out[n] = noticeJSON{Target: t.Target, Format: string(t.Format), Severity: string(t.Severity), Every: wire.SpanOrNull(t.Every),
			ToldAt: wire.InstantOrNull(t.Told.At), ToldBy: wire.DecimalOrNull(t.Told.Job)}
		if t.Quiet != nil {
			from, to := t.Quiet.Clock()
			out[n].Quiet = &quietJSON{from, to, t.Quiet.Zone.String(), string(t.Quiet.Severity)}
		}
	}
	return sendJSON(c, http.StatusOK, map[string]any{"notices": out})
}

func (s *Server) apiTryNotice(c echo.Context) error {
	var target string
	if err := readJSON(c, fields{"target": text(&target)}); err != nil {
		return err
	}
	job, err := s.try(c, target)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"job_id": decimal(job)})
}
