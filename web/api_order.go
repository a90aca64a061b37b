package web

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/wire"
)

const (
	routeAPIAmend     = "/api/v1/jobs/:id/amend"
	routeAPINote      = "/api/v1/jobs/:id/note"
	routeAPIDuplicate = "/api/v1/jobs/:id/duplicate"
	routeAPIErase     = "/api/v1/jobs/:id/erase"
	routeAPIVersions  = "/api/v1/jobs/:id/args"
	routeAPIVersion   = "/api/v1/jobs/:id/args/:version"
)

func (s *Server) apiRequeue(c echo.Context) error   { return s.apiOrder(c, store.ActionRequeue) }
func (s *Server) apiTerminate(c echo.Context) error { return s.apiOrder(c, store.ActionTerminate) }
func (s *Server) apiAmend(c echo.Context) error     { return s.apiOrder(c, store.ActionAmend) }
func (s *Server) apiNote(c echo.Context) error      { return s.apiOrder(c, store.ActionNote) }
func (s *Server) apiDuplicate(c echo.Context) error { return s.apiOrder(c, store.ActionDuplicate) }
func (s *Server) apiErase(c echo.Context) error     { return s.apiOrder(c, store.ActionErase) }

// apiOrder is an operator's action by a program. It must say which revision it
// looked at; one that names its request is done once, however often it is sent.
func (s *Server) apiOrder(c echo.Context, action store.Action) error {
	id, err := apiID(c)
	if err != nil {
		return err
	}
	o := order{action: action, params: store.OperatorParams{JobID: id, Actor: s.actor(c)}}
	if err := readJSON(c, o.fields()); err != nil {
		return err
	}
	if err := s.mayOrder(c, o); err != nil {
		return err
	}
	done, err := s.obey(c.Request().Context(), o)
	if err != nil {
		return err
	}
	job, err := s.whole(c, done.ID)
	if err != nil {
		return err
	}
	if action != store.ActionDuplicate {
		return sendJSON(c, http.StatusOK, job)
	}
	c.Response().Header().Set("Location", s.urls.Base+routeAPIJobs+"/"+decimal(done.ID))
	return sendJSON(c, http.StatusCreated, job)
}

// fields are what the action's request can have.
func (o *order) fields() fields {
	p, ch := &o.params, &o.change
	f := fields{"reason": text(&p.Reason), "seen": object(fields{"revision": exact(&p.Seen)}), "request_id": repeatID(&p.Request)}
	switch o.action {
	case store.ActionAmend, store.ActionDuplicate:
		f["priority"] = func(name string, raw json.RawMessage) error {
			ch.Priority = new(int16)
			return integer(ch.Priority, math.MinInt16, math.MaxInt16)(name, raw)
		}
		f["queue"], f["add_tag"], f["remove_tag"] = word(&ch.Queue), word(&ch.AddTag), word(&ch.RemoveTag)
		f["run_at"], f["max_attempts"] = instant(&ch.RunAt), integer(&ch.MaxAttempts, 1, store.MaxAttempts)
		fallthrough
	case store.ActionRequeue:
		f["args"], f["restore"] = anything(&ch.Args), exact(&ch.Restore)
	}
	return f
}

// word reads a text that is not empty: what stays as it is, is left out.
func word(into *string) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		if err := text(into)(name, raw); err != nil {
			return err
		}
		if *into == "" {
			return &store.InvalidError{Field: name, Message: "is empty; leave it out to change nothing of it"}
		}
		return nil
	}
}

// repeatID reads what tells a repeat from another request.
func repeatID(into *uuid.UUID) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var s string
		if err := text(&s)(name, raw); err != nil {
			return err
		}
		id, err := uuid.Parse(s)
		if err != nil || id == uuid.Nil {
			return &store.InvalidError{Field: name, Message: "must be a UUID, as in 3f0c9a52-6a27-4c57-9a8f-0d1f6f9a1b2c"}
		}
		*into = id
		return nil
	}
}

// apiVersions lists the versions of a job's args that are kept, and holds none.
func (s *Server) apiVersions(c echo.Context) error {
	id, err := apiID(c)
	if err != nil {
		return err
	}
	if _, err := query(c); err != nil {
		return err
	}
	ctx := c.Request().Context()
	job, err := s.cfg.Store.Job(ctx, id)
	if err != nil {
		return err
	}
	kept, err := s.cfg.Store.ArgsVersions(ctx, id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.ArgsVersionsOf(job, kept))
}

// apiVersion shows one version of a job's args, under the rules of its payload.
func (s *Server) apiVersion(c echo.Context) error {
	id, err := apiID(c)
	if err != nil {
		return err
	}
	version, ok := parseID(c.Param("version"))
	if !ok {
		return &store.InvalidError{Field: "version", Message: "must be the number of a version of the job's args"}
	}
	if _, err := query(c); err != nil {
		return err
	}
	job, err := s.cfg.Store.Job(c.Request().Context(), id)
	if err != nil {
		return err
	}
	args, err := s.argsFor(c, job, version)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, struct {
		Version int64           `json:"version"`
		Args    json.RawMessage `json:"args"`
	}{version, args})
}

// argsFor is payloadFor of one version of the args.
func (s *Server) argsFor(c echo.Context, j store.Job, version int64) (json.RawMessage, error) {
	ctx, p := c.Request().Context(), s.who(c)
	switch {
	case s.cfg.SignIn == nil:
		return s.cfg.Store.ShowArgs(ctx, j.ID, version, redact.Revealed)
	case p.Has(store.RightReveal) && p.ActsOn(j.Queue) && !foreign(c.Request()):
		return s.cfg.Store.RevealArgs(ctx, j.ID, version, p.name)
	}
	return s.cfg.Store.ShowArgs(ctx, j.ID, version, redact.Masked)
}
