package web

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
	"github.com/fenceline/fenceline/store/wire"
)

const (
	defaultPage        = 50
	defaultTransitions = 10000
	maxTransitions     = 10000
)

func (s *Server) apiEnqueue(c echo.Context) error {
	r := store.Request{Actor: s.actor(c)}
	if parent := c.Request().Header.Get("Traceparent"); store.ValidTrace(parent) {
		r.Trace = parent
	}
	err := readJSON(c, fields{
		"kind": text(&r.Kind), "args": anything(&r.Args), "key": text(&r.Key), "queue": text(&r.Queue),
		"priority": integer(&r.Priority, math.MinInt16, math.MaxInt16), "run_at": instant(&r.RunAt),
		"max_attempts": integer(&r.MaxAttempts, 1, store.MaxAttempts), "tags": texts(&r.Tags),
	})
	if err != nil {
		return err
	}
	if err := s.mayActOn(c, orElse(r.Queue, store.DefaultQueue)); err != nil {
		return err
	}
	ctx := c.Request().Context()
	enqueued, err := s.cfg.Store.Enqueue(ctx, r)
	if err != nil {
		return err
	}
	job, err := s.whole(c, enqueued.ID)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if enqueued.Existing {
		status = http.StatusOK
	}
	c.Response().Header().Set("Location", s.urls.Base+routeAPIJobs+"/"+decimal(enqueued.ID))
	return sendJSON(c, status, job)
}

func (s *Server) apiJob(c echo.Context) error {
	id, err := apiID(c, "a job")
	if err != nil {
		return err
	}
	if _, err := query(c); err != nil {
		return err
	}
	job, err := s.whole(c, id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, job)
}

// wholeJob is a job with its payload, digit for digit as it is stored, and its
// attempts.
type wholeJob struct {
	wire.Job
	Args     json.RawMessage `json:"args"`
	Result   json.RawMessage `json:"result"`
	Attempts []wire.Attempt  `json:"attempts"`
}

// whole reads a job with its payload and attempts. The payload is read apart
// from the rest; when the job changed in between both are read again, so that
// a result never stands beside an older state.
func (s *Server) whole(c echo.Context, id int64) (wholeJob, error) {
	ctx := c.Request().Context()
	for tries := 0; ; tries++ {
		view, err := s.cfg.Store.JobView(ctx, id)
		if err != nil {
			return wholeJob{}, err
		}
		payload, err := s.payloadFor(c, view.Job)
		if err != nil {
			return wholeJob{}, err
		}
		now, err := s.cfg.Store.Job(ctx, id)
		if err != nil {
			return wholeJob{}, err
		}
		if now.Revision == view.Job.Revision || tries == 4 {
			return wholeJob{Job: wire.JobOf(view.Job), Args: payload.Args, Result: payload.Result, Attempts: wire.AttemptsOf(view.History)}, nil
		}
	}
}

// payloadFor is a job's payload as far as the reader may see it: in full and
// recorded, or its shape alone. Where nobody signs in, programs see it unrecorded.
// A link on another site has nobody recorded as having looked.
func (s *Server) payloadFor(c echo.Context, j store.Job) (store.Payload, error) {
	ctx, p := c.Request().Context(), s.who(c)
	switch {
	case s.cfg.SignIn == nil:
		return s.cfg.Store.Show(ctx, j.ID, redact.Revealed)
	case p.Has(store.RightReveal) && p.ActsOn(j.Queue) && !foreign(c.Request()):
		return s.cfg.Store.Reveal(ctx, j.ID, p.name)
	}
	return s.cfg.Store.Show(ctx, j.ID, redact.Masked)
}

type transitionsJSON struct {
	Transitions []wire.Transition `json:"transitions"`
	Next        *string           `json:"next"` // pass as after for newer ones; null when these reach to now
}

func (s *Server) apiTransitions(c echo.Context) error {
	id, err := apiID(c, "a job")
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
	limit, err := number(q, "limit", defaultTransitions, maxTransitions)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.cfg.Store.Job(ctx, id); err != nil {
		return err
	}
	found, err := s.cfg.Store.Transitions(ctx, id, after, limit+1)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, transitionsPage(found, limit))
}

func transitionsPage(found []store.Transition, limit int) transitionsJSON {
	var next *string
	if len(found) > limit {
		found = found[:limit]
		next = wire.OrNull(decimal(found[limit-1].ID))
	}
	return transitionsJSON{wire.TransitionsOf(found), next}
}
