package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

func (s *Server) incidents(c echo.Context) error {
	f, err := s.liveFrame(c, views.TopicIncidents)
	if err != nil {
		return err
	}
	p := views.IncidentsPage{Frame: f}
	if p.View, err = s.cfg.Store.Incidents(c.Request().Context()); err != nil {
		return err
	}
	if p.Targets, err = s.targets(c.Request().Context()); err != nil {
		return err
	}
	p.Now = p.View.Now
	return page(c, http.StatusOK, views.Incidents(p))
}

func (s *Server) incident(c echo.Context) error {
	id, err := pathID(c, store.ErrNoIncident)
	if err != nil {
		return err
	}
	return s.incidentPage(c, id, http.StatusOK, views.IncidentPage{})
}

// incidentReport sends the report on an incident, to be kept elsewhere.
func (s *Server) incidentReport(c echo.Context) error {
	id, err := pathID(c, store.ErrNoIncident)
	if err != nil {
		return err
	}
	return s.sendReport(c, id, views.FormatMarkdown)
}

// sendReport reads the format from the query.
func (s *Server) sendReport(c echo.Context, id int64, otherwise string) error {
	q, err := query(c, views.ParamFormat)
	if err != nil {
		return err
	}
	format := q.Get(views.ParamFormat)
	kind, extension := "application/json", "json"
	switch {
	case format == "":
		format = otherwise
	case format != views.FormatMarkdown && format != views.FormatJSON:
		return &store.InvalidError{Field: views.ParamFormat, Message: "must be markdown or json"}
	}
	if format == views.FormatMarkdown {
		kind, extension = "text/markdown; charset=utf-8", "md"
	}
	r, err := s.cfg.Store.IncidentReport(c.Request().Context(), id)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := views.WriteIncidentReport(&b, r, format); err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	c.Response().Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="incident-%d.%s"`, id, extension))
	return c.Blob(http.StatusOK, kind, b.Bytes())
}

// incidentPage shows an incident, also with what was refused about it.
func (s *Server) incidentPage(c echo.Context, id int64, status int, p views.IncidentPage) (err error) {
	if p.Frame, err = s.liveFrame(c, views.TopicIncident+decimal(id)); err != nil {
		return err
	}
	if p.View, err = s.cfg.Store.Incident(c.Request().Context(), id); err != nil {
		return err
	}
	p.Now = p.View.Now
	return page(c, status, views.Incident(p))
}

// changeIncident is one action from the form: done, it leads back; refused, the
// page says why and keeps what was typed.
func (s *Server) changeIncident(c echo.Context) error {
	id, err := pathID(c, store.ErrNoIncident)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	ch := store.IncidentChange{ID: id, Actor: s.actor(c), Action: store.IncidentAction(sent.Get(views.FieldDo)),
		Reason: sent.Get(views.FieldReason), Severity: sent.Get(views.FieldSeverity)}
	if ch.Seen, err = seenControl(sent.Get(views.FieldSeen)); err == nil {
		ch.For, err = span(views.FieldFor, sent.Get(views.FieldFor))
	}
	if err == nil {
		ch.Into, err = intoOf(sent.Get(views.FieldInto))
	}
	if err == nil {
		_, err = s.cfg.Store.ChangeIncident(c.Request().Context(), ch)
	}
	p := views.IncidentPage{Reason: ch.Reason, For: sent.Get(views.FieldFor), Into: sent.Get(views.FieldInto)}
	if ch.Action == store.IncidentSeverity { // with every other button it is what the page offered
		p.Severity = ch.Severity
	}
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, s.urls.IncidentDone(id))
	case errors.As(err, &p.Conflict), errors.As(err, &p.Problem):
		return s.incidentPage(c, id, explain(err).Status, p)
	}
	return err
}

// intoOf reads the id of the incident that goes on.
func intoOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, ok := parseID(text)
	if !ok {
		return 0, &store.InvalidError{Field: views.FieldInto, Message: "must be the id of another incident"}
	}
	return id, nil
}

func readIncidents(ctx context.Context, s *Server) ([]part, error) {
	view, err := s.cfg.Store.Incidents(ctx)
	if err != nil {
		return nil, err
	}
	f := s.patchFrame(ctx)
	f.Now = view.Now
	return rendered(ctx, views.IncidentsParts(views.IncidentsPage{Frame: f, View: view}))
}

func readIncident(id int64) func(context.Context, *Server) ([]part, error) {
	return func(ctx context.Context, s *Server) ([]part, error) {
		view, err := s.cfg.Store.Incident(ctx, id)
		if errors.Is(err, store.ErrNoIncident) {
			return nil, nil // there is no page of it
		}
		if err != nil {
			return nil, err
		}
		f := s.patchFrame(ctx)
		f.Now = view.Now
		return rendered(ctx, views.IncidentParts(views.IncidentPage{Frame: f, View: view}))
	}
}
