package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

func (s *Server) pause(c echo.Context) error {
	return s.control(c, store.ActionPause, views.FlashPaused, false)
}

func (s *Server) resume(c echo.Context) error {
	return s.control(c, store.ActionResume, views.FlashResumed, false)
}

func (s *Server) limit(c echo.Context) error {
	return s.control(c, store.ActionLimit, views.FlashLimited, false)
}

func (s *Server) drainWorker(c echo.Context) error {
	return s.control(c, store.ActionDrain, views.FlashDrained, true)
}

func (s *Server) resumeWorker(c echo.Context) error {
	return s.control(c, store.ActionResume, views.FlashResumed, true)
}

// change is an operator's change of a control, whoever sent it.
type change struct {
	action store.Action
	params store.ControlParams
	end    store.PauseEnd
	limits store.Limits
}

// mayChange refuses who may act in some queues only, and not on this.
func (s *Server) mayChange(c echo.Context, ch change) error {
	if ch.params.Scope == store.ScopeQueue {
		return s.mayActOn(c, ch.params.Name)
	}
	return s.mayActOn(c, "")
}

func (s *Server) apply(ctx context.Context, ch change) (store.Control, error) {
	switch ch.action {
	case store.ActionPause:
		return s.cfg.Store.Pause(ctx, ch.params, ch.end)
	case store.ActionLimit:
		return s.cfg.Store.Limit(ctx, ch.params, ch.limits)
	case store.ActionDrain:
		return s.cfg.Store.Drain(ctx, ch.params)
	}
	return s.cfg.Store.Resume(ctx, ch.params)
}

// control is one change from a form: done, it leads back; refused, it shows why,
// with what was typed and a form for what is set now.
func (s *Server) control(c echo.Context, action store.Action, done views.Flash, ofWorker bool) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	ch := change{action: action, params: store.ControlParams{
		Scope: store.Scope(sent.Get(views.FieldScope)), Name: sent.Get(views.FieldName), Actor: s.actor(c), Reason: sent.Get(views.FieldReason),
	}}
	if ofWorker != (ch.params.Scope == store.ScopeWorker) {
		return &store.InvalidError{Field: views.FieldScope, Message: "cannot be changed at this address"}
	}
	ctx := c.Request().Context()
	var set store.Control
	if err := s.mayChange(c, ch); err != nil {
		return err
	}
	if err = ch.read(sent); err == nil {
		set, err = s.apply(ctx, ch)
	}
	if err != nil {
		return s.controlRefused(c, ch, sent, err)
	}
	return c.Redirect(http.StatusSeeOther, s.urls.Done(set, done))
}

// read reads what the form of the action holds beside what every form holds.
func (ch *change) read(sent url.Values) (err error) {
	if ch.params.Seen, err = seenControl(sent.Get(views.FieldSeen)); err != nil {
		return err
	}
	switch ch.action {
	case store.ActionPause:
		ch.end.For, err = span(views.FieldFor, sent.Get(views.FieldFor))
	case store.ActionLimit:
		if ch.limits.Concurrency, err = limitOf(views.FieldConcurrency, sent.Get(views.FieldConcurrency)); err != nil {
			return err
		}
		if ch.limits.Rate.N, err = limitOf(views.FieldRate, sent.Get(views.FieldRate)); err != nil || ch.limits.Rate.N == 0 {
			return err
		}
		ch.limits.Rate.Per, err = span(views.FieldPer, sent.Get(views.FieldPer))
	}
	return err
}

// seenControl reads the revision of a control; 0 where nothing was set yet.
func seenControl(text string) (*int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil, &store.InvalidError{Field: views.FieldSeen, Message: "must be the revision of what you looked at"}
	}
	return &n, nil
}

// limitOf reads a limit; nothing is no limit.
func limitOf(field, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &store.InvalidError{Field: field, Message: "must be a whole number from 1, or empty for no limit"}
	}
	return n, nil
}

// span reads a length of time; nothing is none.
func span(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, &store.InvalidError{Field: field, Message: "must be a length of time, as 90s, 15m or 1h30m"}
	}
	return d, nil
}

// controlRefused shows a conflict or a field that cannot be accepted; other
// errors are left to the table.
func (s *Server) controlRefused(c echo.Context, ch change, sent url.Values, cause error) error {
	p := views.ControlPage{Frame: s.frame(c)}
	var problem *store.InvalidError
	if !errors.As(cause, &p.Conflict) && !errors.As(cause, &problem) {
		return cause
	}
	ctx := c.Request().Context()
	set, err := s.cfg.Store.Control(ctx, ch.params.Scope, ch.params.Name)
	if err != nil {
		return cause // about what was asked for, rather than about looking it up
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	p.Form = views.ControlForm{
		Action: ch.action, Control: set, Problem: problem, Reason: ch.params.Reason, For: sent.Get(views.FieldFor),
		Concurrency: sent.Get(views.FieldConcurrency), Rate: sent.Get(views.FieldRate), Per: sent.Get(views.FieldPer),
		Gone: p.Conflict != nil && p.Conflict.Why == store.ConflictAlreadyEnded,
	}
	return page(c, explain(cause).Status, views.Control(p))
}
