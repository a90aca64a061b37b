package web

import (
	"errors"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// mayAsk refuses a search in args or errors to who may not read them: who may ask
// which jobs hold a value, or which do not, can find the value out. Who may read
// those of some queues only has to name one of these.
func (s *Server) mayAsk(c echo.Context, q search.Query) error {
	if !q.Asks() {
		return nil
	}
	if err := s.require(c, store.RightReveal); err != nil {
		return err
	}
	if p := s.who(c); !q.Within(p.ActsOn) && p.Queues != nil {
		return forbidden(keptByQueue, "You may see payloads and errors of some queues only: name one of them in the search, as in queue:mail.")
	}
	return nil
}

// kept is a search that is kept, for who may ask such.
func (s *Server) kept(c echo.Context, text string) (search.Query, uuid.UUID, error) {
	if err := s.require(c, store.RightReveal); err != nil {
		return search.Query{}, uuid.Nil, err
	}
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return search.Query{}, uuid.Nil, store.ErrNoSearch
	}
	q, err := s.cfg.Store.KeptSearch(c.Request().Context(), id)
	return q, id, err
}

// keep keeps a search, unless it is the one that was kept before.
func (s *Server) keep(c echo.Context, q search.Query, before string) (string, error) {
	if err := s.require(c, store.RightReveal); err != nil {
		return "", err
	}
	if err := s.mayAsk(c, q); err != nil {
		return "", err
	}
	if before != "" {
		same, _, err := s.kept(c, before)
		if err == nil && same.String() == q.String() {
			return before, nil
		}
		if err != nil && !errors.Is(err, store.ErrNoSearch) {
			return "", err
		}
	}
	id, err := s.cfg.Store.KeepSearch(c.Request().Context(), q, s.actor(c))
	return id.String(), err
}
