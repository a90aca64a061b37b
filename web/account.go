package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
	"github.com/fenceline/fenceline/web/access"
)

// setUp shows the form for the first account, while there is none.
func (s *Server) setUp(c echo.Context) error {
	if err := s.nobodyYet(c); err != nil {
		return err
	}
	return page(c, http.StatusOK, views.SetUp(views.SetUpPage{Frame: s.frame(c)}))
}

func (s *Server) nobodyYet(c echo.Context) error {
	any, err := s.cfg.Store.AnybodySignsIn(c.Request().Context())
	if err == nil && (any || !s.cfg.SignIn.Passwords) {
		err = echo.ErrNotFound
	}
	return err
}

// makeFirst makes the first account and signs its owner in.
func (s *Server) makeFirst(c echo.Context) error {
	if err := s.nobodyYet(c); err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	wait, err := s.cfg.Store.TryNow(ctx, store.Brake{Key: "address:" + network(c.RealIP()), Free: triesOfAddress, Most: holdAddress})
	if err != nil {
		return err
	}
	name, password := sent.Get(views.FieldName), sent.Get(views.FieldNewPassword)
	if wait > 0 {
		retryAfter(c, wait)
		return page(c, http.StatusTooManyRequests, views.SetUp(views.SetUpPage{Frame: s.frame(c), Name: name, Code: sent.Get(views.FieldCode), Problem: tooManyTries(wait)}))
	}
	p, err := s.first(c, sent.Get(views.FieldCode), name, password)
	if why := reasonOf(err); why != "" {
		return page(c, http.StatusUnprocessableEntity, views.SetUp(views.SetUpPage{Frame: s.frame(c), Name: name, Code: sent.Get(views.FieldCode), Problem: why}))
	}
	if err != nil {
		return err
	}
	if err := s.begin(c, p, ""); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.urls.Home())
}

func (s *Server) first(c echo.Context, code, name, password string) (store.Person, error) {
	if err := store.CheckPersonName(name); err != nil {
		return store.Person{}, err
	}
	hash, err := s.hashed(c, name, password)
	if err != nil {
		return store.Person{}, err
	}
	return s.cfg.Store.SetUp(c.Request().Context(), access.Hash(code), name, hash)
}

// reasonOf is what a person can do something about.
func reasonOf(err error) string {
	var invalid *store.InvalidError
	switch {
	case errors.As(err, &invalid):
		return "The " + invalid.Field + " " + invalid.Message + "."
	case errors.Is(err, store.ErrNoPerson):
		return "This code is not valid: it was used, or is older than an hour. Start the program again for another one."
	}
	return ""
}

func (s *Server) account(c echo.Context) error { return s.showAccount(c, http.StatusOK, "") }

func (s *Server) showAccount(c echo.Context, status int, problem string) (err error) {
	ctx, p := c.Request().Context(), s.who(c)
	show := views.AccountPage{Frame: s.frame(c), Current: p.session, Problem: problem, Changed: c.QueryParam(views.ParamDone) == "password"}
	if show.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	if p.id != 0 {
		if show.Person, err = s.cfg.Store.Person(ctx, p.id); err != nil {
			return err
		}
		if show.SignIns, err = s.cfg.Store.SignIns(ctx, p.id); err != nil {
			return err
		}
	}
	return page(c, status, views.Account(show))
}

// changePassword asks for the present one first, as slowly as a sign-in, and is
// one: the session goes on under another token.
func (s *Server) changePassword(c echo.Context) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	p := s.who(c)
	found, _, wait, err := s.checkPassword(c, p.name, sent.Get(views.FieldPassword))
	switch {
	case err != nil:
		return err
	case wait > 0:
		retryAfter(c, wait)
		return s.showAccount(c, http.StatusTooManyRequests, tooManyTries(wait))
	case found.ID == 0 || found.ID != p.id:
		return s.showAccount(c, http.StatusUnprocessableEntity, "That is not your password now.")
	}
	ctx := c.Request().Context()
	hash, err := s.hashed(c, p.name, sent.Get(views.FieldNewPassword))
	if why := reasonOf(err); why != "" {
		return s.showAccount(c, http.StatusUnprocessableEntity, why)
	}
	if err != nil {
		return err
	}
	// Of this browser too a new session begins: whoever has its cookie from somewhere
	// is signed out with the others.
	if _, err := s.cfg.Store.SetPassword(ctx, p.name, store.SeenPerson{Name: p.name}, hash); err != nil {
		return err
	}
	if err := s.begin(c, found, hash); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.urls.At(views.RouteAccount)+"?"+views.ParamDone+"=password")
}

// endSignIns signs a person out of another browser, or of all others.
func (s *Server) endSignIns(c echo.Context) error {
	sent, err := form(c)
	if err != nil {
		return err
	}
	p := s.who(c)
	own := store.Person{ID: p.id, Name: p.name}
	if _, err := s.cfg.Store.EndSignInsOf(c.Request().Context(), p.name, own, sent.Get(views.FieldSignIn), p.session); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, s.urls.At(views.RouteAccount))
}
