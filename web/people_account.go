package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// accountOf reads which account a path names, and who that is now.
func (s *Server) accountOf(c echo.Context) (store.Person, error) {
	id, err := pathID(c, store.ErrNoPerson)
	if err != nil {
		return store.Person{}, err
	}
	return s.cfg.Store.Person(c.Request().Context(), id)
}

// othersAccount is accountOf for a change that nobody makes to their own: an
// admin who takes away what they may do could lock everybody out.
func (s *Server) othersAccount(c echo.Context) (store.Person, error) {
	of, err := s.accountOf(c)
	if err == nil && of.ID == s.who(c).id {
		err = &problem{Status: http.StatusConflict, Code: "own_account", Message: views.OwnAccount}
	}
	return of, err
}

func (s *Server) person(c echo.Context) error {
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	return s.showPerson(c, http.StatusOK, views.PersonPage{Person: of})
}

// showPerson fills the page of an account and sends it.
func (s *Server) showPerson(c echo.Context, status int, p views.PersonPage) (err error) {
	ctx, who := c.Request().Context(), s.who(c)
	p.Frame, p.Own, p.Current = s.frame(c), p.Person.ID == who.id, who.session
	if p.Now, err = s.clock.now(ctx); err != nil {
		return err
	}
	if p.SignIns, err = s.cfg.Store.SignIns(ctx, p.Person.ID); err != nil {
		return err
	}
	if p.Tokens, err = s.cfg.Store.Tokens(ctx, p.Person.ID); err != nil {
		return err
	}
	return page(c, status, views.Person(p))
}

// signOutPerson ends one session of somebody, or all but the reader's own.
func (s *Server) signOutPerson(c echo.Context) error {
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Store.EndSignInsOf(c.Request().Context(), s.actor(c), of, sent.Get(views.FieldSignIn), s.who(c).session); err != nil {
		return err
	}
	return s.backTo(c, of, views.FlashSignOuts)
}
