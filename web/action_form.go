package web

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// readAction reads what the form of an action holds beside its reason. What is
// empty stays as it is, but for args: a form that has a field for them sends them.
func (s *Server) readAction(c echo.Context, o *jobAction, sent url.Values) (err error) {
	if o.params.Seen, err = seen(sent.Get(views.FieldSeen)); err != nil {
		return err
	}
	ch := &o.change
	switch o.action {
	case store.ActionAmend, store.ActionDuplicate:
		ch.Queue, ch.AddTag, ch.RemoveTag = sent.Get(views.FieldQueue), sent.Get(views.FieldAddTag), sent.Get(views.FieldRemoveTag)
		if ch.MaxAttempts, err = budgetOf(sent.Get(views.FieldMaxAttempts)); err != nil {
			return err
		}
		if ch.Priority, err = priorityOf(sent.Get(views.FieldPriority)); err != nil {
			return err
		}
		if ch.RunAt, err = s.dueAt(c.Request().Context(), strings.TrimSpace(sent.Get(views.FieldRunAt))); err != nil {
			return err
		}
	case store.ActionRequeue:
	default:
		return nil
	}
	if sent.Has(views.FieldArgs) {
		ch.Args = json.RawMessage(sent.Get(views.FieldArgs))
	}
	if text := sent.Get(views.FieldRestore); text != "" {
		version, ok := parseID(text)
		if !ok {
			return &store.InvalidError{Field: views.FieldRestore, Message: "must be the number of a version of the job's args"}
		}
		ch.Restore = version
	}
	return nil
}

func budgetOf(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > store.MaxAttempts {
		return 0, &store.InvalidError{Field: views.FieldMaxAttempts, Message: fmt.Sprintf("must be a whole number between 1 and %d, or empty to leave it", store.MaxAttempts)}
	}
	return n, nil
}

func priorityOf(text string) (*int16, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 16)
	if err != nil {
		return nil, &store.InvalidError{Field: views.FieldPriority, Message: fmt.Sprintf("must be a whole number between %d and %d, or empty to leave it", math.MinInt16, math.MaxInt16)}
	}
	p := int16(n)
	return &p, nil
}

// dueAt reads when a job is to be due as a person writes it: a time in UTC, or a
// delay from now on, on the database's clock.
func (s *Server) dueAt(ctx context.Context, text string) (time.Time, error) {
	after, relative := strings.CutPrefix(text, "+")
	if !relative {
		return auditTime(views.FieldRunAt, text)
	}
	d, err := time.ParseDuration(after)
	if err != nil || d < 0 {
		return time.Time{}, &store.InvalidError{Field: views.FieldRunAt, Message: "must be a time in UTC, as in 2026-01-31T09:30, or a delay such as +90s, +5m or +1h30m"}
	}
	now, err := s.cfg.Store.Clock(ctx)
	return now.Add(d), err
}

func seen(text string) (int64, error) {
	revision, ok := parseID(text)
	if !ok {
		return 0, &store.InvalidError{Field: views.FieldSeen, Message: "must be the revision of the job that you looked at"}
	}
	return revision, nil
}
