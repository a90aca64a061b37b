package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
	"github.com/fenceline/fenceline/views"
)

func (s *Server) operations(c echo.Context) error {
	f, err := s.liveFrame(c, views.TopicOperations)
	if err != nil {
		return err
	}
	p := views.OperationsPage{Frame: f}
	if p.Operations, p.Now, err = s.cfg.Store.Operations(c.Request().Context()); err != nil {
		return err
	}
	return page(c, http.StatusOK, views.Operations(p))
}

func (s *Server) operation(c echo.Context) error {
	id, err := pathID(c, store.ErrNoOperation)
	if err != nil {
		return err
	}
	return s.operationPage(c, id, http.StatusOK, views.OperationPage{})
}

// operationPage shows an operation, also with what was refused about it.
func (s *Server) operationPage(c echo.Context, id int64, status int, p views.OperationPage) (err error) {
	if p.Frame, err = s.liveFrame(c, views.TopicOperation(id)); err != nil {
		return err
	}
	if p.View, err = s.cfg.Store.OperationView(c.Request().Context(), id); err != nil {
		return err
	}
	p.Now = p.View.Now
	return page(c, status, views.Operation(p))
}

// previewOperation takes the snapshot that the list's form asks for and leads to
// its page. Nothing is done to any job yet.
func (s *Server) previewOperation(c echo.Context) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	action, of, _ := strings.Cut(sent.Get(views.FieldDo), " ")
	r := store.OperationRequest{Action: store.Action(action), Actor: s.actor(c)}
	switch of {
	case views.DoTicked:
		if r.Ticked, err = ticked(sent); err == nil && len(r.Ticked) == 0 {
			err = &store.InvalidError{Field: "jobs", Message: "names none: tick the jobs to act on first"}
		}
	case views.DoMatching:
		err = s.selection(c, &r, sent.Get(views.ParamSearch), sent.Get(views.ParamKept))
		r.Filter.Order = store.Order(sent.Get(views.ParamOrder))
	default:
		err = &store.InvalidError{Field: views.FieldDo, Message: "must be an action and ticked or matching"}
	}
	if err != nil {
		return err
	}
	o, err := s.cfg.Store.PreviewOperation(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.urls.Operation(o.ID))
}

// ticked are the jobs whose boxes a form sends.
func ticked(sent url.Values) ([]store.Ticked, error) {
	var out []store.Ticked
	for name := range sent {
		text, is := strings.CutPrefix(name, views.FieldTick)
		if !is {
			continue
		}
		id, ok := parseID(text)
		revision, known := parseID(sent.Get(name))
		if !ok || !known {
			return nil, &store.InvalidError{Field: printable(name), Message: "must name a job and hold the revision of it that was seen"}
		}
		out = append(out, store.Ticked{JobID: id, Revision: revision})
	}
	return out, nil
}

// selection reads a search, or the id of one that is kept.
func (s *Server) selection(c echo.Context, r *store.OperationRequest, line, kept string) (err error) {
	if kept != "" {
		r.Filter.Query, r.Search, err = s.kept(c, kept)
	} else if r.Filter.Query, err = search.Parse(line); err == nil && r.Filter.Query.InArgs() {
		err = &store.InvalidError{Field: views.ParamSearch, Message: "looks into args; keep the search first, by POST /api/v1/searches, and name it by its id"}
	}
	if err != nil {
		return err
	}
	return s.mayAsk(c, r.Filter.Query)
}

func (s *Server) confirmOperation(c echo.Context) error {
	return s.changeOperation(c, store.ActionConfirm, views.FlashConfirmed)
}

func (s *Server) pauseOperation(c echo.Context) error {
	return s.changeOperation(c, store.ActionPause, views.FlashOperationPaused)
}

func (s *Server) resumeOperation(c echo.Context) error {
	return s.changeOperation(c, store.ActionResume, views.FlashOperationGoesOn)
}

func (s *Server) cancelOperation(c echo.Context) error {
	return s.changeOperation(c, store.ActionCancel, views.FlashCancelled)
}

// applyOperation makes a change; repeated says that the operation had been
// confirmed before.
func (s *Server) applyOperation(ctx context.Context, a store.Action, p store.OperationParams) (repeated bool, err error) {
	switch a {
	case store.ActionConfirm:
		_, repeated, err = s.cfg.Store.ConfirmOperation(ctx, p)
	case store.ActionPause:
		_, err = s.cfg.Store.PauseOperation(ctx, p)
	case store.ActionResume:
		_, err = s.cfg.Store.ResumeOperation(ctx, p)
	default:
		_, err = s.cfg.Store.CancelOperation(ctx, p)
	}
	return repeated, err
}

// changeOperation is one change from a form: done, it leads back to the
// operation; refused, it shows why, with what was typed.
func (s *Server) changeOperation(c echo.Context, a store.Action, done views.Flash) error {
	id, err := pathID(c, store.ErrNoOperation)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	p := store.OperationParams{ID: id, Actor: s.actor(c), Reason: sent.Get(views.FieldReason)}
	if p.Seen, err = seen(sent.Get(views.FieldSeen)); err == nil {
		if p.Rules.Pace, err = limitOf(views.FieldPace, sent.Get(views.FieldPace)); err == nil {
			p.Rules.HaltAbove, err = limitOf(views.FieldHaltAbove, sent.Get(views.FieldHaltAbove))
		}
	}
	var repeated bool
	if err == nil {
		repeated, err = s.applyOperation(c.Request().Context(), a, p)
	}
	if err == nil {
		if repeated {
			done = views.FlashConfirmedBefore
		}
		return c.Redirect(http.StatusSeeOther, s.urls.OperationDone(id, done))
	}
	shown := views.OperationPage{Tried: views.OperationForm{
		Action: a, Reason: p.Reason, Pace: sent.Get(views.FieldPace), HaltAbove: sent.Get(views.FieldHaltAbove),
	}}
	if !errors.As(err, &shown.Conflict) && !errors.As(err, &shown.Problem) {
		return err
	}
	return s.operationPage(c, id, explain(err).Status, shown)
}

// What the streams of these pages send.

func readOperations(ctx context.Context, s *Server) ([]part, error) {
	all, now, err := s.cfg.Store.Operations(ctx)
	if err != nil {
		return nil, err
	}
	f := s.patchFrame(ctx)
	f.Now = now
	return rendered(ctx, views.OperationsParts(views.OperationsPage{Frame: f, Operations: all}))
}

func readOperation(id int64) func(ctx context.Context, s *Server) ([]part, error) {
	return func(ctx context.Context, s *Server) ([]part, error) {
		v, err := s.cfg.Store.OperationView(ctx, id)
		if errors.Is(err, store.ErrNoOperation) {
			return nil, nil // forgotten while somebody looks: the page stays as it was
		}
		if err != nil {
			return nil, err
		}
		f := s.patchFrame(ctx)
		f.Now = v.Now
		return rendered(ctx, views.OperationParts(views.OperationPage{Frame: f, View: v}))
	}
}
