package web

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

const (
	routeAPIAmend     = "/api/v1/jobs/:id/amend"
	routeAPINote      = "/api/v1/jobs/:id/note"
	routeAPIDuplicate = "/api/v1/jobs/:id/duplicate"
	routeAPIErase     = "/api/v1/jobs/:id/erase"
	routeAPIVersions  = "/api/v1/jobs/:id/args"
	routeAPIVersion   = "/api/v1/jobs/:id/args/:version"
)

func (s *Server) apiRequeue(c echo.Context) error   { return s.apiAct(c, store.ActionRequeue) }
func (s *Server) apiTerminate(c echo.Context) error { return s.apiAct(c, store.ActionTerminate) }
func (s *Server) apiAmend(c echo.Context) error     { return s.apiAct(c, store.ActionAmend) }
func (s *Server) apiNote(c echo.Context) error      { return s.apiAct(c, store.ActionNote) }
func (s *Server) apiDuplicate(c echo.Context) error { return s.apiAct(c, store.ActionDuplicate) }
func (s *Server) apiErase(c echo.Context) error     { return s.apiAct(c, store.ActionErase) }

// apiAct is an operator's action by a program. It must say which revision it
// looked at; one that names its request is done once, however often it is sent.
func (s *Server) apiAct(c echo.Context, action store.Action) error {
	id, err := apiID(c, "a job")
	if err != nil {
		return err
	}
	o := jobAction{action: action, params: store.OperatorParams{JobID: id, Actor: s.actor(c)}}
	if err := readJSON(c, o.fields()); err != nil {
		return err
	}
	if err := s.mayDo(c, o); err != nil {
		return err
	}
	done, err := s.do(c.Request().Context(), o)
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
func (o *jobAction) fields() fields {
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
