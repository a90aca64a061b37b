package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
	"github.com/fenceline/fenceline/web/access"
)

// makeToken makes a token and shows it this once.
func (s *Server) makeToken(c echo.Context) error {
	of, err := s.accountOf(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	days, err := daysOf(sent.Get(views.FieldDays))
	token, as := "", ""
	if err == nil {
		token, as, err = s.newToken(c, of, sent.Get(views.FieldName), powersIn(sent), days)
	}
	if err != nil {
		p := views.PersonPage{Person: of, Token: sent}
		if !errors.As(err, &p.Problem) {
			return err
		}
		return s.showPerson(c, explain(err).Status, p)
	}
	return s.showPerson(c, http.StatusCreated, views.PersonPage{Person: of, Made: token, MadeAs: as})
}

const maxDays = int(store.MaxTokenLife / (24 * time.Hour))

func daysOf(text string) (int, error) {
	days, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || days < 1 || days > maxDays {
		return 0, &store.InvalidError{Field: views.FieldDays, Message: "must be a whole number from 1 to " + strconv.Itoa(maxDays)}
	}
	return days, nil
}

func (s *Server) newToken(c echo.Context, of store.Person, name string, powers store.Powers, days int) (token, actsAs string, err error) {
	token = access.NewToken()
	err = s.cfg.Store.AddToken(c.Request().Context(), s.actor(c), of.Name, name, powers, time.Duration(days)*24*time.Hour, access.Hash(token))
	return token, of.Name + "/" + name, err
}

// removeToken makes a token invalid: the one that was seen, whatever stands under
// its name by now.
func (s *Server) removeToken(c echo.Context) error {
	if _, err := form(c); err != nil {
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
	return s.backTo(c, t.Person, views.FlashRevoked)
}
