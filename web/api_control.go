package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

func (s *Server) apiPause(c echo.Context) error  { return s.apiControl(c, store.ActionPause, false) }
func (s *Server) apiResume(c echo.Context) error { return s.apiControl(c, store.ActionResume, false) }
func (s *Server) apiLimit(c echo.Context) error  { return s.apiControl(c, store.ActionLimit, false) }
func (s *Server) apiDrain(c echo.Context) error  { return s.apiControl(c, store.ActionDrain, true) }

func (s *Server) apiUndrain(c echo.Context) error {
	return s.apiControl(c, store.ActionResume, true)
}

// apiControl is an operator's change of a control by a program. It names one
// queue, one kind, everything or one worker, and says which revision it looked
// at.
func (s *Server) apiControl(c echo.Context, action store.Action, ofWorker bool) error {
	ch := change{action: action, params: store.ControlParams{Actor: s.actor(c)}}
	var queue, kind, worker, length, per string
	var all bool
	f := fields{"reason": text(&ch.params.Reason), "seen": object(fields{"revision": revision(&ch.params.Seen)})}
	if ofWorker {
		f["id"] = text(&worker)
	} else {
		f["queue"], f["kind"], f["all"] = text(&queue), text(&kind), truth(&all)
	}
	switch action {
	case store.ActionPause:
		f["for"], f["until"] = text(&length), instant(&ch.end.Until)
	case store.ActionLimit:
		delete(f, "all")
		f["concurrency"] = integer(&ch.limits.Concurrency, 1, store.MaxConcurrency)
		f["rate"], f["per"] = integer(&ch.limits.Rate.N, 1, store.MaxRate), text(&per)
	}
	err := readJSON(c, f)
	if err != nil {
		return err
	}
	if ch.end.For, err = span("for", length); err != nil {
		return err
	}
	if ch.limits.Rate.Per, err = span("per", per); err != nil {
		return err
	}
	if err := ch.aim(queue, kind, worker, all, ofWorker); err != nil {
		return err
	}
	if err := s.mayChange(c, ch); err != nil {
		return err
	}
	ctx := c.Request().Context()
	set, err := s.apply(ctx, ch)
	if err != nil {
		return sentAs("id", store.ScopeWorker, err)
	}
	now, err := s.clock.now(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.ControlOf(set, now))
}

// sentAs names the field that a client sent where the store names the scope.
func sentAs(field string, scope store.Scope, err error) error {
	var invalid *store.InvalidError
	if errors.As(err, &invalid) && invalid.Field == string(scope) {
		return &store.InvalidError{Field: field, Message: invalid.Message}
	}
	return err
}

// aim reads what a change is about.
func (ch *change) aim(queue, kind, worker string, all, ofWorker bool) error {
	p, named := &ch.params, 0
	for _, of := range []struct {
		scope store.Scope
		name  string
		given bool
	}{{store.ScopeQueue, queue, queue != ""}, {store.ScopeKind, kind, kind != ""}, {store.ScopeAll, "", all}} {
		if of.given {
			p.Scope, p.Name, named = of.scope, of.name, named+1
		}
	}
	switch {
	case ofWorker && worker == "":
		return &store.InvalidError{Field: "id", Message: "is required: the worker's id"}
	case ofWorker:
		p.Scope, p.Name = store.ScopeWorker, worker
	case named == 0:
		return &store.InvalidError{Field: "queue", Message: "is required, or kind, or all"}
	case named > 1:
		return &store.InvalidError{Field: "queue", Message: "cannot be given together with kind or all: one change is about one thing"}
	}
	return nil
}

// revision reads the revision of a control, as a number or as a string of
// digits; 0 where nothing was set yet.
func revision(into **int64) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		n, err := seenControl(unquoted(raw))
		if err != nil {
			return &store.InvalidError{Field: name, Message: "must be a whole number from 0, or a string of its digits"}
		}
		*into = n
		return nil
	}
}
