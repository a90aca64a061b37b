package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

func (s *Server) apiTokens(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	all, err := s.cfg.Store.Tokens(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]any{"tokens": wire.TokensOf(all)})
}

func (s *Server) apiMakeToken(c echo.Context) error {
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	var powers store.Powers
	var name string
	days := 90
	if err := readJSON(c, powersFields(&powers, fields{"name": text(&name), "days": integer(&days, 1, int64(maxDays))})); err != nil {
		return err
	}
	token, as, err := s.newToken(c, of, name, powers, days)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusCreated, map[string]string{"token": token, "acts_as": as})
}

func (s *Server) apiRemoveToken(c echo.Context) error {
	if err := readJSON(c, fields{}); err != nil {
		return err
	}
	id, err := pathID(c, store.ErrNoToken)
	if err != nil {
		return err
	}
	t, err := s.cfg.Store.RemoveTokenOf(c.Request().Context(), s.actor(c), id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"removed": t.Actor()})
}
