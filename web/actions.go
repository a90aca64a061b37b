package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// maxSince is how much of what happened meanwhile a refused action shows.
const maxSince = 50

// order is what an operator asks of one job, whoever sent it.
type order struct {
	action store.Action
	params store.OperatorParams
	change store.Change // of a requeue the args alone; of others than amend and duplicate nothing
}

// mayOrder refuses what the order needs beyond the rule of its address: other
// args, also ones that stay unseen, need the right to reveal, and another queue
// must be one that the person may act in.
func (s *Server) mayOrder(c echo.Context, o order) error {
	if o.change.Args != nil || o.change.Restore != 0 {
		if err := s.require(c, store.RightReveal); err != nil {
			return err
		}
	}
	if o.change.Queue != "" {
		return s.mayActOn(c, o.change.Queue)
	}
	return nil
}

// obey does it. The job that it returns is the new one where one was made.
func (s *Server) obey(ctx context.Context, o order) (store.Job, error) {
	switch o.action {
	case store.ActionTerminate:
		return s.cfg.Store.Terminate(ctx, o.params)
	case store.ActionAmend:
		return s.cfg.Store.Amend(ctx, o.params, o.change)
	case store.ActionDuplicate:
		return s.cfg.Store.Duplicate(ctx, o.params, o.change)
	case store.ActionErase:
		return s.cfg.Store.Erase(ctx, o.params)
	case store.ActionNote:
		return s.cfg.Store.Note(ctx, o.params)
	}
	return s.cfg.Store.RequeueWith(ctx, o.params, o.change.NewArgs)
}

// act is one operator's action from a form: done, it leads to the job, or to the
// one that it made; refused, it shows why, with what was typed and a form for the
// job as it is now.
func (s *Server) act(action store.Action, done views.Flash) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		sent, err := formUpTo(c, maxOrder)
		if err != nil {
			return err
		}
		o := order{action: action, params: store.OperatorParams{JobID: id, Actor: s.actor(c), Reason: sent.Get(views.FieldReason)}}
		err = s.readOrder(c, &o, sent)
		if err == nil {
			err = s.mayOrder(c, o)
		}
		var job store.Job
		if err == nil {
			job, err = s.obey(c.Request().Context(), o)
		}
		if err != nil {
			return s.refused(c, o, sent, err)
		}
		return c.Redirect(http.StatusSeeOther, s.urls.JobDone(job.ID, done))
	}
}

// readOrder reads what the form of an action holds beside its reason. What is
// empty stays as it is, but for args: a form that has a field for them sends them.
func (s *Server) readOrder(c echo.Context, o *order, sent url.Values) (err error) {
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

// refused shows a conflict or a field that cannot be accepted; other errors
// are left to the table.
func (s *Server) refused(c echo.Context, o order, sent url.Values, cause error) error {
	p := views.ActionPage{Frame: s.frame(c), Form: views.ActionForm{Action: o.action, Typed: sent}}
	if !errors.As(cause, &p.Conflict) && !errors.As(cause, &p.Form.Problem) {
		return cause
	}
	view, err := s.cfg.Store.JobView(c.Request().Context(), o.params.JobID)
	if err != nil {
		return err
	}
	p.Now, p.Form.Job, p.Form.Versions = view.Now, view.Job, view.Versions
	if p.Conflict != nil {
		p.Since = since(view.Transitions, o.params.Seen)
	}
	return page(c, explain(cause).Status, views.Action(p))
}

// since returns the newest transitions behind the last one that belongs to the
// revision seen or an earlier one.
func since(all []store.Transition, revision int64) []store.Transition {
	from := 0
	for i, t := range all {
		if t.Revision > 0 && t.Revision <= revision {
			from = i + 1
		}
	}
	return all[max(from, len(all)-maxSince):]
}

// reveal shows a payload, or one version of the args, or one part of it as a
// download. The store records who looked before it hands anything out.
func (s *Server) reveal(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	as, part := sent.Get(views.FieldAs), sent.Get(views.FieldPart)
	version, err := checkReveal(as, part, sent.Get(views.FieldVersion))
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := views.RevealPage{Frame: s.frame(c), Version: version}
	if p.Job, err = s.cfg.Store.Job(ctx, id); err != nil {
		return err
	}
	if version != 0 {
		p.Payload.Args, err = s.cfg.Store.RevealArgs(ctx, id, version, s.actor(c))
	} else {
		p.Payload, err = s.cfg.Store.Reveal(ctx, id, s.actor(c))
	}
	if err != nil {
		return err
	}
	if as == views.AsFile {
		return sendPart(c, id, part, p)
	}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	return page(c, http.StatusOK, views.Reveal(p))
}

// checkReveal reads the version that is asked for, 0 for what the job has now.
func checkReveal(as, part, version string) (int64, error) {
	n, ok := parseID(version)
	switch {
	case as != views.AsPage && as != views.AsFile && as != "":
		return 0, &store.InvalidError{Field: views.FieldAs, Message: "must be page or file"}
	case as == views.AsFile && part != "args" && part != "result":
		return 0, &store.InvalidError{Field: views.FieldPart, Message: "must be args or result"}
	case version != "" && (!ok || part == "result"):
		return 0, &store.InvalidError{Field: views.FieldVersion, Message: "must be the number of a version of the job's args"}
	}
	return n, nil
}

func sendPart(c echo.Context, id int64, part string, p views.RevealPage) error {
	raw, name := p.Payload.Args, part
	if part == "result" {
		raw = p.Payload.Result
	} else if p.Version != 0 {
		name += "-" + decimal(p.Version)
	}
	if raw == nil {
		return &problem{Status: http.StatusNotFound, Code: "not_found", Message: "This job has no " + part + "."}
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="job-`+decimal(id)+`-`+name+`.json"`)
	return c.Blob(http.StatusOK, "application/json", raw)
}

func (s *Server) drill(c echo.Context) error {
	if _, err := form(c); err != nil {
		return err
	}
	if s.cfg.Drill == nil {
		return &problem{Status: http.StatusNotFound, Code: "no_drill", Message: "This process cannot run the drill; use the command fenceline drill."}
	}
	job, running, err := s.cfg.Drill.Start(c.Request().Context(), s.actor(c))
	if err != nil {
		return err
	}
	done := views.FlashDrill
	if running {
		done = views.FlashDrillBusy
	}
	return c.Redirect(http.StatusSeeOther, s.urls.JobDone(job, done))
}
