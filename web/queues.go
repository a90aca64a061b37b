package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// queues is the page of all queues, of the one that the query names, or of a
// kind.
func (s *Server) queues(c echo.Context) error {
	q, err := anyQuery(c)
	if err != nil {
		return err
	}
	switch {
	case q.Has(views.ParamName):
		return s.queue(c, q.Get(views.ParamName))
	case q.Has(views.ParamKind):
		return s.kind(c, q.Get(views.ParamKind))
	}
	f, err := s.liveFrame(c, views.TopicQueues)
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.Queues(c.Request().Context())
	if err != nil {
		return err
	}
	f.Now = view.Now
	return page(c, http.StatusOK, views.Queues(views.QueuesPage{Frame: f, View: view}))
}

func (s *Server) queue(c echo.Context, name string) error {
	f, err := s.liveFrame(c, views.TopicQueue(name))
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.Queue(c.Request().Context(), name)
	if err != nil {
		return err
	}
	f.Now = view.Now
	return page(c, http.StatusOK, views.Queue(views.QueuePage{Frame: f, View: view}))
}

func (s *Server) kind(c echo.Context, name string) error {
	f, err := s.liveFrame(c, views.TopicKind(name))
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.Kind(c.Request().Context(), name)
	if err != nil {
		return err
	}
	f.Now = view.Now
	return page(c, http.StatusOK, views.Kind(views.KindPage{Frame: f, View: view}))
}

// workers is the page of all workers, or of the one that the query names.
func (s *Server) workers(c echo.Context) error {
	q, err := anyQuery(c)
	if err != nil {
		return err
	}
	if q.Has(views.ParamWorker) {
		return s.worker(c, q.Get(views.ParamWorker))
	}
	f, err := s.liveFrame(c, views.TopicWorkers)
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.Workers(c.Request().Context())
	if err != nil {
		return err
	}
	f.Now = view.Now
	return page(c, http.StatusOK, views.Workers(views.WorkersPage{Frame: f, View: view}))
}

func (s *Server) worker(c echo.Context, id string) error {
	f, err := s.liveFrame(c, views.TopicWorker(id))
	if err != nil {
		return err
	}
	view, err := s.cfg.Store.Worker(c.Request().Context(), id)
	if err != nil {
		return err
	}
	f.Now = view.Now
	return page(c, http.StatusOK, views.Worker(views.WorkerPage{Frame: f, View: view}))
}

// liveFrame is the frame of a page that follows a topic. The position is read
// before the page, so that what happens in between is sent again.
func (s *Server) liveFrame(c echo.Context, topic string) (views.Frame, error) {
	position, err := s.cfg.Store.Horizon(c.Request().Context())
	f := s.frame(c)
	f.Position, f.Topics = unsigned(position), []string{topic}
	return f, err
}

// What the streams of these pages send: the pages' own parts.

// patchFrame is the frame of what a room renders, for readers with the same powers.
func (s *Server) patchFrame(ctx context.Context) views.Frame {
	return views.Frame{URLs: s.urls, Asset: s.asset, Limits: limits(powersOf(ctx))}
}

func readQueues(ctx context.Context, s *Server) ([]part, error) {
	view, err := s.cfg.Store.Queues(ctx)
	if err != nil {
		return nil, err
	}
	f := s.patchFrame(ctx)
	f.Now = view.Now
	return rendered(ctx, views.QueuesParts(views.QueuesPage{Frame: f, View: view}))
}

func readWorkers(ctx context.Context, s *Server) ([]part, error) {
	view, err := s.cfg.Store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	f := s.patchFrame(ctx)
	f.Now = view.Now
	return rendered(ctx, views.WorkersParts(views.WorkersPage{Frame: f, View: view}))
}

// Of one queue, kind or worker, by its name.
var namedReadings = map[string]func(name string) func(context.Context, *Server) ([]part, error){
	views.TopicQueue(""): func(name string) func(context.Context, *Server) ([]part, error) {
		return func(ctx context.Context, s *Server) ([]part, error) {
			view, err := s.cfg.Store.Queue(ctx, name)
			if err != nil {
				return nil, err
			}
			f := s.patchFrame(ctx)
			f.Now = view.Now
			return rendered(ctx, views.QueueParts(views.QueuePage{Frame: f, View: view}))
		}
	},
	views.TopicKind(""): func(name string) func(context.Context, *Server) ([]part, error) {
		return func(ctx context.Context, s *Server) ([]part, error) {
			view, err := s.cfg.Store.Kind(ctx, name)
			if err != nil {
				return nil, err
			}
			f := s.patchFrame(ctx)
			f.Now = view.Now
			return rendered(ctx, views.KindParts(views.KindPage{Frame: f, View: view}))
		}
	},
	views.TopicWorker(""): func(id string) func(context.Context, *Server) ([]part, error) {
		return func(ctx context.Context, s *Server) ([]part, error) {
			view, err := s.cfg.Store.Worker(ctx, id)
			if errors.Is(err, store.ErrNoWorker) {
				return nil, nil // forgotten while somebody looks: the page stays as it was
			}
			if err != nil {
				return nil, err
			}
			f := s.patchFrame(ctx)
			f.Now = view.Now
			return rendered(ctx, views.WorkerParts(views.WorkerPage{Frame: f, View: view}))
		}
	},
}
