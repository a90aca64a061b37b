package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// maxSince is how much of what happened meanwhile a refused action shows.
const maxSince = 50

// jobAction is what an operator asks of one job, whoever sent it.
type jobAction struct {
	action store.Action
	params store.OperatorParams
	change store.Change // of a requeue the args alone; of others than amend and duplicate nothing
}

// mayDo refuses what the action needs beyond the rule of its address: other
// args, also ones that stay unseen, need the right to reveal, and another queue
// must be one that the person may act in.
func (s *Server) mayDo(c echo.Context, o jobAction) error {
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

// do does it. The job that it returns is the new one where one was made.
func (s *Server) do(ctx context.Context, o jobAction) (store.Job, error) {
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
		id, err := pathID(c, store.ErrNotFound)
		if err != nil {
			return err
		}
		sent, err := formUpTo(c, maxActionForm)
		if err != nil {
			return err
		}
		o := jobAction{action: action, params: store.OperatorParams{JobID: id, Actor: s.actor(c), Reason: sent.Get(views.FieldReason)}}
		err = s.readAction(c, &o, sent)
		if err == nil {
			err = s.mayDo(c, o)
		}
		var job store.Job
		if err == nil {
			job, err = s.do(c.Request().Context(), o)
		}
		if err != nil {
			return s.refused(c, o, sent, err)
		}
		return c.Redirect(http.StatusSeeOther, s.urls.JobDone(job.ID, done))
	}
}

// refused shows a conflict or a field that cannot be accepted; other errors
// are left to the table.
func (s *Server) refused(c echo.Context, o jobAction, sent url.Values, cause error) error {
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
