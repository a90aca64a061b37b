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

// incidentJSON is an incident as the API shows it.
type incidentJSON struct {
	ID           string  `json:"id"`
	Revision     int64   `json:"revision"`
	State        string  `json:"state"`
	Severity     string  `json:"severity"`
	Rule         string  `json:"rule"`
	Scope        string  `json:"scope"`
	What         string  `json:"what"`
	N            int64   `json:"n"`
	Q            *string `json:"q"` // the search that finds its jobs
	Owner        *string `json:"owner"`
	OwnedUntil   *string `json:"owned_until"`
	SnoozedUntil *string `json:"snoozed_until"`
	OpenedAt     string  `json:"opened_at"`
	FoundAt      string  `json:"found_at"`
	ResolvedAt   *string `json:"resolved_at"`
	Reopened     int     `json:"reopened"`
	JobsSince    *string `json:"jobs_since"` // from when on the jobs of its evidence are kept
	MergedInto   *string `json:"merged_into"`
}

func incidentOf(i store.Incident) incidentJSON {
	return incidentJSON{
		ID: decimal(i.ID), Revision: i.Revision, State: string(i.State), Severity: i.Severity, Rule: i.Rule, Scope: i.Scope, What: i.What, N: i.N,
		Q: wire.OrNull(i.JobsSearch()), Owner: wire.OrNull(i.Owner), OwnedUntil: wire.InstantOrNull(i.OwnedUntil), SnoozedUntil: wire.InstantOrNull(i.SnoozedUntil),
		OpenedAt: wire.Instant(i.OpenedAt), FoundAt: wire.Instant(i.FoundAt), ResolvedAt: wire.InstantOrNull(i.ResolvedAt), Reopened: i.Reopened,
		JobsSince: wire.InstantOrNull(i.JobsSince), MergedInto: wire.DecimalOrNull(i.MergedInto),
	}
}

func incidentsOf(all []store.Incident) []incidentJSON {
	out := make([]incidentJSON, len(all))
	for n, i := range all {
		out[n] = incidentOf(i)
	}
	return out
}

type incidentLineJSON struct {
	At     string  `json:"at"`
	Of     *string `json:"of"`     // the incident that it was entered of; null for a minute
	Action *string `json:"action"` // what was done; null for a minute of the log
	Actor  *string `json:"actor"`
	Reason *string `json:"reason"`
	Until  *string `json:"until"`
	Type   *string `json:"type"` // what the log holds of a minute; null for what was done
	N      *int64  `json:"n"`

	Operation *incidentOperationJSON `json:"operation"` // what an operation on its jobs did; null otherwise
}

// incidentOperationJSON is an operation at the time of a line.
type incidentOperationJSON struct {
	ID        string `json:"id"`
	Does      string `json:"does"`
	Total     int64  `json:"total"`      // jobs of its snapshot, the incident's and others
	DealtWith int64  `json:"dealt_with"` // of those, at the time
	Changed   int64  `json:"changed"`    // of those, once it has finished; 0 before
	Pace      *int64 `json:"pace"`       // jobs a minute; null for as fast as it goes
}

func incidentOperationOf(o store.IncidentOperation) *incidentOperationJSON {
	if o.ID == 0 {
		return nil
	}
	return &incidentOperationJSON{decimal(o.ID), string(o.Does), o.Total, o.DealtWith, o.Changed, wire.OrNull(int64(o.Pace))}
}

type incidentViewJSON struct {
	incidentJSON
	Timeline []incidentLineJSON `json:"timeline"` // oldest first
	Similar  []incidentJSON     `json:"similar"`
	Merged   []incidentJSON     `json:"merged"`  // the incidents that are part of it
	Touched  wire.Count         `json:"touched"` // the jobs of its evidence
}

func (s *Server) apiIncidents(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	v, err := s.cfg.Store.Incidents(c.Request().Context())
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]any{"active": incidentsOf(v.Active), "resolved": incidentsOf(v.Past)})
}

// apiIncidentID is incidentID for programs, which are told what is wrong with
// the id.
func apiIncidentID(c echo.Context) (int64, error) {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return 0, &store.InvalidError{Field: "id", Message: "must be an incident's id: a whole number above 0"}
	}
	return id, nil
}

func (s *Server) apiIncident(c echo.Context) error {
	id, err := apiIncidentID(c)
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
	out := incidentViewJSON{incidentJSON: incidentOf(v.Incident), Timeline: []incidentLineJSON{}, Similar: incidentsOf(v.Similar),
		Merged: incidentsOf(v.Merged), Touched: wire.Count(v.Touched)}
	for _, l := range v.Line {
		out.Timeline = append(out.Timeline, incidentLineJSON{At: wire.Instant(l.At), Of: wire.DecimalOrNull(l.Of), Action: wire.OrNull(string(l.Action)), Actor: wire.OrNull(l.Actor),
			Reason: wire.OrNull(l.Reason), Until: wire.InstantOrNull(l.Until), Type: wire.OrNull(string(l.Type)), N: wire.OrNull(l.N),
			Operation: incidentOperationOf(l.Operation)})
	}
	return sendJSON(c, http.StatusOK, out)
}

// apiIncidentReport sends the report on an incident.
func (s *Server) apiIncidentReport(c echo.Context) error {
	id, err := apiIncidentID(c)
	if err != nil {
		return err
	}
	return s.sendReport(c, id, views.FormatJSON)
}

// apiChangeIncident is an action of a program, bound to the revision it saw.
func (s *Server) apiChangeIncident(c echo.Context) error {
	id, err := apiIncidentID(c)
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
	return sendJSON(c, http.StatusOK, incidentOf(i))
}
