package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
	"github.com/fenceline/fenceline/web/access"
)

// people is the page of everybody who may sign in, and of all tokens.
func (s *Server) people(c echo.Context) error {
	return s.showPeople(c, http.StatusOK, views.PeoplePage{})
}

func (s *Server) showPeople(c echo.Context, status int, p views.PeoplePage) (err error) {
	ctx := c.Request().Context()
	p.Frame, p.Passwords = s.frame(c), s.cfg.SignIn.Passwords
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	if p.People, err = s.cfg.Store.People(ctx); err != nil {
		return err
	}
	if p.Tokens, err = s.cfg.Store.Tokens(ctx, 0); err != nil {
		return err
	}
	return page(c, status, views.People(p))
}

// addPerson adds somebody who signs in with a password, and leads to the account.
func (s *Server) addPerson(c echo.Context) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	of, err := s.newPerson(c, sent.Get(views.FieldName), sent.Get(views.FieldNewPassword), powersIn(sent))
	if err != nil {
		p := views.PeoplePage{Typed: sent}
		if !errors.As(err, &p.Problem) {
			return err
		}
		return s.showPeople(c, explain(err).Status, p)
	}
	return s.backTo(c, of, views.FlashAdded)
}

func (s *Server) newPerson(c echo.Context, name, password string, powers store.Powers) (store.Person, error) {
	if !s.cfg.SignIn.Passwords {
		return store.Person{}, noPasswords
	}
	if err := errors.Join(store.CheckPersonName(name), powers.Check()); err != nil {
		return store.Person{}, err
	}
	hash, err := s.hashed(c, name, password)
	if err != nil {
		return store.Person{}, err
	}
	return s.cfg.Store.AddPerson(c.Request().Context(), s.actor(c), name, powers, hash)
}

var noPasswords = &problem{Status: http.StatusNotFound, Code: "no_passwords", Message: "Nobody signs in with a password here."}

// hashed is what is kept of a password that somebody may have.
func (s *Server) hashed(c echo.Context, name, password string) (string, error) {
	if !s.cfg.SignIn.Passwords {
		return "", noPasswords
	}
	if err := access.CheckPassword(name, password); err != nil {
		return "", err
	}
	return access.HashPassword(c.Request().Context(), password)
}
