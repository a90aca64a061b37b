package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

const routeAPIAudit = "/api/v1/audit"

// audit is the page of what people did and looked at. A filter that cannot be
// understood is shown as it was typed.
func (s *Server) audit(c echo.Context) error {
	q, err := anyQuery(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := views.AuditPage{Frame: s.frame(c), Typed: map[string]string{}}
	for _, name := range views.AuditParams() {
		p.Typed[name] = q.Get(name)
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	status := http.StatusOK
	if p.Filter, err = auditFilter(q); err == nil {
		p.Page, err = s.cfg.Store.Audit(ctx, p.Filter)
	}
	if err != nil {
		if !errors.As(err, &p.Problem) {
			return err
		}
		status = http.StatusUnprocessableEntity
	}
	return page(c, status, views.Audit(p))
}

// auditFilter reads the filter that an address holds.
func auditFilter(q url.Values) (f store.AuditFilter, err error) {
	f.Actor, f.Action, f.Outcome = q.Get(views.ParamActor), q.Get(views.ParamAction), q.Get(views.ParamOutcome)
	for name, into := range map[string]*int64{views.ParamJob: &f.JobID, views.ParamOperation: &f.Operation} {
		if text := strings.TrimSpace(q.Get(name)); text != "" {
			id, ok := parseID(text)
			if !ok {
				return f, &store.InvalidError{Field: name, Message: "must be an id: a whole number above 0"}
			}
			*into = id
		}
	}
	for name, into := range map[string]*time.Time{views.ParamFrom: &f.From, views.ParamTo: &f.To} {
		if *into, err = auditTime(name, strings.TrimSpace(q.Get(name))); err != nil {
			return f, err
		}
	}
	if f.After, err = cursor(q, views.ParamAfter); err != nil {
		return f, err
	}
	f.Limit, err = number(q, views.ParamLimit, 0, store.MaxAuditPage)
	return f, err
}

// auditTime reads a time as a person or a program writes it, in UTC.
func auditTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1900 && t.Year() <= 9998 {
			return t, nil
		}
	}
	return time.Time{}, &store.InvalidError{Field: name, Message: "must be a time between the years 1900 and 9998, as in 2026-01-31 or 2026-01-31T09:30"}
}

func (s *Server) apiAudit(c echo.Context) error {
	q, err := query(c, append(views.AuditParams(), views.ParamAfter, views.ParamLimit)...)
	if err != nil {
		return err
	}
	f, err := auditFilter(q)
	if err != nil {
		return err
	}
	p, err := s.cfg.Store.Audit(c.Request().Context(), f)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.AuditPageOf(p))
}

// exportAudit sends all that the filter selects, page by page, as it is read. An
// export that cannot be read to its end is cut off, so that no client takes it
// for whole.
func (s *Server) exportAudit(c echo.Context) error {
	q, err := anyQuery(c)
	if err != nil {
		return err
	}
	format := q.Get(views.ParamFormat)
	if format != views.FormatCSV && format != views.FormatLines {
		return &store.InvalidError{Field: views.ParamFormat, Message: "must be csv or jsonl"}
	}
	f, err := auditFilter(q)
	if err != nil {
		return err
	}
	f.Limit = 1000
	ctx := c.Request().Context()
	first, err := s.cfg.Store.Audit(ctx, f)
	if err != nil {
		return err
	}
	response := c.Response()
	kind := map[string]string{views.FormatCSV: "text/csv; charset=utf-8; header=present", views.FormatLines: "application/jsonl; charset=utf-8"}[format]
	response.Header().Set(echo.HeaderContentType, kind)
	response.Header().Set("Content-Disposition", `attachment; filename="fenceline-audit.`+format+`"`)
	response.WriteHeader(http.StatusOK)
	write := views.AuditWriter(response, format)
	line := http.NewResponseController(response)
	looked := time.Now()
	for p := first; ; {
		line.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
		if err := write(p.Entries); err != nil {
			return gone(err)
		}
		if p.Next == 0 {
			return nil
		}
		// Long ones end with the right, as streams do.
		if time.Since(looked) >= s.cfg.Heartbeat {
			if same, err := s.unchanged(c); !same {
				return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "You may not read this any more.", cause: err}
			}
			looked = time.Now()
		}
		f.After = p.Next
		if p, err = s.cfg.Store.Audit(ctx, f); err != nil {
			return err
		}
	}
}
