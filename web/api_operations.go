package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const (
	routeAPIOperations = "/api/v1/operations"
	routeAPIOperation  = "/api/v1/operations/:id"
	routeAPISkipped    = "/api/v1/operations/:id/skipped"
	routeAPIConfirm    = "/api/v1/operations/:id/confirm"
	routeAPIPauseOp    = "/api/v1/operations/:id/pause"
	routeAPIResumeOp   = "/api/v1/operations/:id/resume"
	routeAPICancelOp   = "/api/v1/operations/:id/cancel"
)

// operationJSON is an operation as the API shows it.
type operationJSON struct {
	ID          string           `json:"id"`
	Revision    int64            `json:"revision"`
	State       string           `json:"state"`
	Action      string           `json:"action"`
	Total       int64            `json:"total"`
	Position    int64            `json:"position"` // of them, dealt with
	Done        int64            `json:"done"`
	Skipped     int64            `json:"skipped"`
	Looked      *int64           `json:"looked"` // the search stopped after so many jobs; null when it saw all
	Words       string           `json:"words"`
	Q           *string          `json:"q"`
	Search      *string          `json:"search"`
	States      map[string]int64 `json:"states"`
	Expected    map[string]int64 `json:"expected"` // would be left alone, by why
	CreatedAt   string           `json:"created_at"`
	CreatedBy   string           `json:"created_by"`
	ConfirmedAt *string          `json:"confirmed_at"`
	ConfirmedBy *string          `json:"confirmed_by"`
	Reason      *string          `json:"reason"`
	Pace        *int64           `json:"pace"`       // jobs a minute
	HaltAbove   *int64           `json:"halt_above"` // percent
	HaltCode    *string          `json:"halt_code"`
	HaltReason  *string          `json:"halt_reason"`
	ActsFor     *string          `json:"acts_for"` // who confirmed it, or resumed it last
	Worker      *string          `json:"worker"`
	SteppedAt   *string          `json:"stepped_at"`
	FinishedAt  *string          `json:"finished_at"`
}

func operationOf(o store.Operation) operationJSON {
	out := operationJSON{
		ID: decimal(o.ID), Revision: o.Revision, State: string(o.State), Action: string(o.Action),
		Total: o.Total, Position: o.Position, Done: o.Done, Skipped: o.Skipped(), Looked: orNullNumber(o.Looked),
		Words: o.Words, Q: orNull(o.Filter), Search: orNullID(o.Search), States: map[string]int64{}, Expected: map[string]int64{},
		CreatedAt: instantText(o.CreatedAt), CreatedBy: o.CreatedBy, ConfirmedAt: orNullTime(o.ConfirmedAt), ConfirmedBy: orNull(o.ConfirmedBy),
		Reason: orNull(o.Reason), Pace: orNullNumber(int64(o.Pace)), HaltAbove: orNullNumber(int64(o.HaltAbove)), HaltCode: orNull(string(o.HaltCode)), HaltReason: orNull(o.HaltReason), ActsFor: orNull(o.ActsFor),
		Worker: orNull(o.Worker), SteppedAt: orNullTime(o.SteppedAt), FinishedAt: orNullTime(o.FinishedAt),
	}
	for s, n := range o.States {
		out.States[string(s)] = n
	}
	for why, n := range o.Expected {
		out.Expected[string(why)] = n
	}
	return out
}

type skipJSON struct {
	JobID    string  `json:"job_id"`
	Why      string  `json:"why"`
	State    *string `json:"state"`
	Seen     int64   `json:"seen"`
	Revision *int64  `json:"revision"`
	At       string  `json:"at"`
}

func (s *Server) apiOperations(c echo.Context) error {
	if _, err := query(c, []string{}...); err != nil {
		return err
	}
	all, _, err := s.cfg.Store.Operations(c.Request().Context())
	if err != nil {
		return err
	}
	out := struct {
		Operations []operationJSON `json:"operations"`
	}{make([]operationJSON, len(all))}
	for i, o := range all {
		out.Operations[i] = operationOf(o)
	}
	return sendJSON(c, http.StatusOK, out)
}

// apiOperationID is operationID for programs, which are told what is wrong with
// the id.
func apiOperationID(c echo.Context) (int64, error) {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return 0, &store.InvalidError{Field: "id", Message: "must be an operation's id: a whole number above 0"}
	}
	return id, nil
}

type operationViewJSON struct {
	operationJSON
	Sample []jobJSON `json:"sample"` // the first jobs of the snapshot, as they are now
}

func (s *Server) apiOperation(c echo.Context) error {
	id, err := apiOperationID(c)
	if err != nil {
		return err
	}
	if _, err := query(c, []string{}...); err != nil {
		return err
	}
	return s.sendOperation(c, http.StatusOK, id)
}

func (s *Server) sendOperation(c echo.Context, status int, id int64) error {
	v, err := s.cfg.Store.OperationView(c.Request().Context(), id)
	if err != nil {
		return err
	}
	out := operationViewJSON{operationJSON: operationOf(v.Operation), Sample: make([]jobJSON, len(v.Sample))}
	for i, j := range v.Sample {
		out.Sample[i] = jobOf(j)
	}
	return sendJSON(c, status, out)
}

func (s *Server) apiSkipped(c echo.Context) error {
	id, err := apiOperationID(c)
	if err != nil {
		return err
	}
	q, err := query(c, "after", "limit")
	if err != nil {
		return err
	}
	after, err := cursor(q, "after")
	if err != nil {
		return err
	}
	limit, err := number(q, "limit", defaultPage, store.MaxSkips-1)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.cfg.Store.Operation(ctx, id); err != nil {
		return err
	}
	found, err := s.cfg.Store.OperationSkips(ctx, id, after, limit+1)
	if err != nil {
		return err
	}
	out := struct {
		Skipped []skipJSON `json:"skipped"`
		Next    *string    `json:"next"`
	}{Skipped: []skipJSON{}}
	if len(found) > limit {
		found = found[:limit]
		out.Next = orNull(decimal(found[limit-1].JobID))
	}
	for _, k := range found {
		out.Skipped = append(out.Skipped, skipJSON{decimal(k.JobID), string(k.Why), orNull(string(k.State)), k.Seen, orNullNumber(k.Revision), instantText(k.At)})
	}
	return sendJSON(c, http.StatusOK, out)
}

// apiPreview takes a snapshot for a program: of what a search selects, or of jobs
// that are named with the revisions that were seen.
func (s *Server) apiPreview(c echo.Context) error {
	r := store.OperationRequest{Actor: s.actor(c)}
	var action, line, kept string
	searched, named := false, false
	given := func(into *bool, read func(string, json.RawMessage) error) func(string, json.RawMessage) error {
		return func(name string, raw json.RawMessage) error { *into = true; return read(name, raw) }
	}
	err := readJSON(c, fields{
		"action": text(&action), "q": given(&searched, text(&line)), "search": given(&searched, text(&kept)), "jobs": given(&named, tickedJSON(&r.Ticked)),
	})
	switch {
	case err != nil:
		return err
	case action == "":
		return &store.InvalidError{Field: "action", Message: "is required: requeue or terminate"}
	case searched == named:
		return &store.InvalidError{Field: "jobs", Message: "or q, or search is required, and only one of them; q may be empty for every job"}
	case named && len(r.Ticked) == 0:
		return &store.InvalidError{Field: "jobs", Message: "names none"}
	case line != "" && kept != "":
		return &store.InvalidError{Field: views.ParamKept, Message: "cannot be given together with q"}
	case searched:
		if err := s.selection(c, &r, line, kept); err != nil {
			return err
		}
	}
	r.Action = store.Action(action)
	o, err := s.cfg.Store.PreviewOperation(c.Request().Context(), r)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", s.urls.Base+routeAPIOperations+"/"+decimal(o.ID))
	return s.sendOperation(c, http.StatusCreated, o.ID)
}

func tickedJSON(into *[]store.Ticked) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var all []json.RawMessage
		if raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
			return &store.InvalidError{Field: name, Message: "must be a list of objects with id and revision"}
		}
		for i, one := range all {
			var t store.Ticked
			if err := object(fields{"id": exact(&t.JobID), "revision": exact(&t.Revision)})(fmt.Sprintf("%s[%d]", name, i), bytes.TrimSpace(one)); err != nil {
				return err
			}
			*into = append(*into, t)
		}
		return nil
	}
}

func (s *Server) apiConfirm(c echo.Context) error  { return s.apiChange(c, store.ActionConfirm) }
func (s *Server) apiPauseOp(c echo.Context) error  { return s.apiChange(c, store.ActionPause) }
func (s *Server) apiResumeOp(c echo.Context) error { return s.apiChange(c, store.ActionResume) }
func (s *Server) apiCancelOp(c echo.Context) error { return s.apiChange(c, store.ActionCancel) }

// apiChange is an operator's change of an operation by a program. A confirmation
// that had been made before is answered as success, and changes nothing.
func (s *Server) apiChange(c echo.Context, a store.Action) error {
	id, err := apiOperationID(c)
	if err != nil {
		return err
	}
	p := store.OperationParams{ID: id, Actor: s.actor(c), By: s.mandate(c)}
	f := fields{"reason": text(&p.Reason), "seen": object(fields{"revision": exact(&p.Seen)})}
	if a == store.ActionConfirm || a == store.ActionResume {
		f["pace"], f["halt_above"] = integer(&p.Rules.Pace, 1, store.MaxPace), integer(&p.Rules.HaltAbove, 1, 99)
	}
	if err := readJSON(c, f); err != nil {
		return err
	}
	if _, _, err := s.applyOperation(c.Request().Context(), a, p); err != nil {
		return err
	}
	return s.sendOperation(c, http.StatusOK, id)
}
