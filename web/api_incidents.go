package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

const (
	routeAPIIncidents      = "/api/v1/incidents"
	routeAPIIncident       = "/api/v1/incidents/:id"
	routeAPIIncidentChange = "/api/v1/incidents/:id/change"
	routeAPIIncidentReport = "/api/v1/incidents/:id/report"
)

func (s *Server) apiIncidents(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	v, err := s.cfg.Store.Incidents(c.Request().Context())
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]any{"active": wire.IncidentsOf(v.Active), "resolved": wire.IncidentsOf(v.Past)})
}

func (s *Server) apiIncident(c echo.Context) error {
	id, err := apiID(c, "an incident")
	if err != nil {
		return err
	}
	if _, err := query(c); err != nil {
		return err
	}
	v, err := s.cfg.Store.Incident(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.IncidentViewOf(v))
}

// apiIncidentReport sends the report on an incident.
func (s *Server) apiIncidentReport(c echo.Context) error {
	id, err := apiID(c, "an incident")
	if err != nil {
		return err
	}
	return s.sendReport(c, id, views.FormatJSON)
}

// apiChangeIncident is an action of a program, bound to the revision it saw.
func (s *Server) apiChangeIncident(c echo.Context) error {
	id, err := apiID(c, "an incident")
	if err != nil {
		return err
	}
	ch := store.IncidentChange{ID: id, Actor: s.actor(c)}
	var action, length, into string
	if err := readJSON(c, fields{"action": text(&action), "reason": text(&ch.Reason), "for": text(&length), "severity": text(&ch.Severity), "into": text(&into),
		"seen": object(fields{"revision": revision(&ch.Seen)})}); err != nil {
		return err
	}
	ch.Action = store.IncidentAction(action)
	if ch.For, err = span("for", length); err != nil {
		return err
	}
	if ch.Into, err = intoOf(into); err != nil {
		return err
	}
	i, err := s.cfg.Store.ChangeIncident(c.Request().Context(), ch)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.IncidentOf(i))
}
