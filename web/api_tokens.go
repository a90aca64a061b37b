package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

// tokenJSON is a token; its powers are what holds, within what its person may do
// now.
type tokenJSON struct {
	ID     string `json:"id"`
	Person string `json:"person"` // the account's id
	ActsAs string `json:"acts_as"`
	powersJSON
	CreatedAt *string `json:"created_at"`
	ExpiresAt *string `json:"expires_at"`
	UsedAt    *string `json:"used_at"` // to a minute; null when it never was
}

func tokenOf(t store.Token) tokenJSON {
	return tokenJSON{ID: decimal(t.ID), Person: decimal(t.Person.ID), ActsAs: t.Actor(), powersJSON: powersOfJSON(t.Holds()),
		CreatedAt: orNullTime(t.CreatedAt), ExpiresAt: orNullTime(t.ExpiresAt), UsedAt: orNullTime(t.UsedAt)}
}

func (s *Server) apiTokens(c echo.Context) error {
	if _, err := query(c, []string{}...); err != nil {
		return err
	}
	all, err := s.cfg.Store.Tokens(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	tokens := []tokenJSON{}
	for _, t := range all {
		tokens = append(tokens, tokenOf(t))
	}
	return sendJSON(c, http.StatusOK, map[string]any{"tokens": tokens})
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
	id, ok := parseID(c.Param("id"))
	if !ok {
		return store.ErrNoToken
	}
	t, err := s.cfg.Store.RemoveTokenOf(c.Request().Context(), s.actor(c), id)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"removed": t.Actor()})
}
