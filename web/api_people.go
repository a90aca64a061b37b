package web

import (
	"net/http"

	"github.com/fenceline/fenceline/store/wire"
	"github.com/labstack/echo/v4"
)

func (s *Server) apiPeople(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	all, err := s.cfg.Store.People(c.Request().Context())
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]any{"people": wire.PeopleOf(all)})
}

func (s *Server) apiPerson(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	all, err := s.cfg.Store.SignIns(c.Request().Context(), of.ID)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, wire.PersonWith(of, all))
}
