package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
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

func (s *Server) apiOperations(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	all, _, err := s.cfg.Store.Operations(c.Request().Context())
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]any{"operations": wire.OperationsOf(all)})
}

func (s *Server) apiOperation(c echo.Context) error {
	id, err := apiID(c, "an operation")
	if err != nil {
		return err
	}
	if _, err := query(c); err != nil {
		return err
	}
	return s.sendOperation(c, http.StatusOK, id)
}

func (s *Server) sendOperation(c echo.Context, status int, id int64) error {
	v, err := s.cfg.Store.OperationView(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return sendJSON(c, status, wire.OperationViewOf(v))
}

func (s *Server) apiSkipped(c echo.Context) error {
	id, err := apiID(c, "an operation")
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
		Skipped []wire.Skip `json:"skipped"`
		Next    *string     `json:"next"`
	}{Skipped: []wire.Skip{}}
	if len(found) > limit {
		found = found[:limit]
		out.Next = wire.OrNull(decimal(found[limit-1].JobID))
	}
	for _, k := range found {
		out.Skipped = append(out.Skipped, wire.SkipOf(k))
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
	id, err := apiID(c, "an operation")
	if err != nil {
		return err
	}
	p := store.OperationParams{ID: id, Actor: s.actor(c)}
	f := fields{"reason": text(&p.Reason), "seen": object(fields{"revision": exact(&p.Seen)})}
	if a == store.ActionConfirm || a == store.ActionResume {
		f["pace"], f["halt_above"] = integer(&p.Rules.Pace, 1, store.MaxPace), integer(&p.Rules.HaltAbove, 1, 99)
	}
	if err := readJSON(c, f); err != nil {
		return err
	}
	if _, err := s.applyOperation(c.Request().Context(), a, p); err != nil {
		return err
	}
	return s.sendOperation(c, http.StatusOK, id)
}
