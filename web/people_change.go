package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// setPowers changes what somebody may do, bound to what was seen.
func (s *Server) setPowers(c echo.Context) error {
	var refused views.PersonPage
	return s.changeByForm(c, views.FlashPowers, &refused, func(who store.SeenPerson, sent url.Values) error {
		refused.Powers = sent
		_, err := s.cfg.Store.SetPowers(c.Request().Context(), s.actor(c), who, powersIn(sent))
		return err
	})
}

// setPassword sets the password of somebody else, bound to what was seen.
func (s *Server) setPassword(c echo.Context) error {
	return s.changeByForm(c, views.FlashPassword, &views.PersonPage{Password: true}, func(who store.SeenPerson, sent url.Values) error {
		hash, err := s.hashed(c, who.Name, sent.Get(views.FieldNewPassword))
		if err == nil {
			_, err = s.cfg.Store.SetPassword(c.Request().Context(), s.actor(c), who, hash)
		}
		return err
	})
}

type changePerson func(*store.Store, context.Context, string, store.SeenPerson) (store.Person, error)

// changeAccount disables an account or enables it again, bound to what was seen.
func (s *Server) changeAccount(change changePerson, done views.Flash) echo.HandlerFunc {
	return func(c echo.Context) error {
		return s.changeByForm(c, done, &views.PersonPage{}, func(who store.SeenPerson, _ url.Values) error {
			_, err := change(s.cfg.Store, c.Request().Context(), s.actor(c), who)
			return err
		})
	}
}

// removePerson takes the account of somebody else away, whose name was typed.
func (s *Server) removePerson(c echo.Context) error {
	return s.changeByForm(c, views.FlashRemoved, &views.PersonPage{Removing: true}, func(who store.SeenPerson, sent url.Values) error {
		if sent.Get(views.FieldName) != who.Name {
			return &store.InvalidError{Field: views.FieldName, Message: "must be the account's name as it stands above"}
		}
		_, err := s.cfg.Store.RemovePerson(c.Request().Context(), s.actor(c), who)
		return err
	})
}

// changeByForm changes somebody else's account and leads back to it, or to all of
// them where it is gone; refused shows why not.
func (s *Server) changeByForm(c echo.Context, done views.Flash, refused *views.PersonPage, change func(store.SeenPerson, url.Values) error) error {
	of, err := s.othersAccount(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	who, err := seenPerson(of, sent)
	if err == nil {
		err = change(who, sent)
	}
	switch {
	case err == nil && done == views.FlashRemoved:
		return c.Redirect(http.StatusSeeOther, s.urls.At(views.RoutePeople)+"?"+views.ParamDone+"="+string(done))
	case err == nil:
		return s.backTo(c, of, done)
	case errors.As(err, &refused.Conflict):
		refused.Person, refused.Password, refused.Removing = refused.Conflict.Person, false, false
	case errors.As(err, &refused.Problem):
		refused.Person = of
	default:
		return err
	}
	return s.showPerson(c, explain(err).Status, *refused)
}

// backTo leads to an account that was changed.
func (s *Server) backTo(c echo.Context, of store.Person, done views.Flash) error {
	return c.Redirect(http.StatusSeeOther, s.urls.Person(of.ID)+"?"+views.ParamDone+"="+string(done))
}

func seenPerson(of store.Person, sent url.Values) (store.SeenPerson, error) {
	revision, ok := parseID(sent.Get(views.FieldSeen))
	if !ok {
		return store.SeenPerson{}, &store.InvalidError{Field: views.FieldSeen, Message: "must be the revision of the account that you looked at"}
	}
	return store.SeenPerson{Name: of.Name, Revision: revision}, nil
}

// powersIn are the powers that a form gives.
func powersIn(sent url.Values) store.Powers {
	p := store.Powers{Role: store.Role(sent.Get(views.FieldRole))}
	for _, r := range store.Rights {
		if sent.Get(string(r)) != "" {
			p.Rights = append(p.Rights, r)
		}
	}
	for line := range strings.Lines(sent.Get(views.FieldQueues)) {
		if name := strings.TrimRight(line, "\r\n"); name != "" {
			p.Queues = append(p.Queues, name)
		}
	}
	return p
}
