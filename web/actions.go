package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// maxSince is how much of what happened meanwhile a refused action shows.
const maxSince = 50

func (s *Server) requeue(c echo.Context) error {
	return s.act(c, store.ActionRequeue, views.FlashRequeued)
}

func (s *Server) terminate(c echo.Context) error {
	return s.act(c, store.ActionTerminate, views.FlashTerminated)
}

// act is one operator's action from a form: done, it leads back to the job;
// refused, it shows why, with the typed reason and a form for the job as it is
// now.
func (s *Server) act(c echo.Context, action store.Action, done views.Flash) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	p := store.OperatorParams{JobID: id, Actor: s.actor(c), Reason: sent.Get(views.FieldReason)}
	if p.Seen, err = seen(sent.Get(views.FieldSeen)); err == nil {
		_, err = s.operate(c.Request().Context(), action, p)
	}
	if err != nil {
		return s.refused(c, action, p, err)
	}
	return c.Redirect(http.StatusSeeOther, s.urls.JobDone(id, done))
}

func (s *Server) operate(ctx context.Context, action store.Action, p store.OperatorParams) (store.Job, error) {
	if action == store.ActionTerminate {
		return s.cfg.Store.Terminate(ctx, p)
	}
	return s.cfg.Store.Requeue(ctx, p)
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
func (s *Server) refused(c echo.Context, action store.Action, sent store.OperatorParams, cause error) error {
	p := views.ActionPage{Frame: s.frame(c), Action: action, Reason: sent.Reason}
	if !errors.As(cause, &p.Conflict) && !errors.As(cause, &p.Problem) {
		return cause
	}
	view, err := s.cfg.Store.JobView(c.Request().Context(), sent.JobID)
	if err != nil {
		return err
	}
	p.Now, p.Job = view.Now, view.Job
	if p.Conflict != nil {
		p.Since = since(view.Transitions, sent.Seen)
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

// reveal shows a payload, or one part of it as a download. The store records
// who looked before it hands anything out.
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
	if err := checkReveal(as, part); err != nil {
		return err
	}
	ctx := c.Request().Context()
	job, err := s.cfg.Store.Job(ctx, id)
	if err != nil {
		return err
	}
	payload, err := s.cfg.Store.Reveal(ctx, id, s.actor(c))
	if err != nil {
		return err
	}
	if as == views.AsFile {
		return sendPart(c, id, part, payload)
	}
	p := views.RevealPage{Frame: s.frame(c), Job: job, Payload: payload}
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	return page(c, http.StatusOK, views.Reveal(p))
}

func checkReveal(as, part string) error {
	switch {
	case as != views.AsPage && as != views.AsFile && as != "":
		return &store.InvalidError{Field: views.FieldAs, Message: "must be page or file"}
	case as == views.AsFile && part != "args" && part != "result":
		return &store.InvalidError{Field: views.FieldPart, Message: "must be args or result"}
	}
	return nil
}

func sendPart(c echo.Context, id int64, part string, payload store.Payload) error {
	raw := payload.Args
	if part == "result" {
		raw = payload.Result
	}
	if raw == nil {
		return &problem{Status: http.StatusNotFound, Code: "not_found", Message: "This job has no result."}
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="job-`+decimal(id)+`-`+part+`.json"`)
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
