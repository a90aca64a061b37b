package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	return s.personChanged(c, of, views.FlashAdded, nil, nil)
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

// setWord sets the password of somebody else, bound to what was seen.
func (s *Server) setWord(c echo.Context) error {
	return s.changeByForm(c, views.FlashWord, views.PersonPage{Word: true}, func(who store.SeenPerson, sent url.Values) error {
		hash, err := s.hashed(c, who.Name, sent.Get(views.FieldNewPassword))
		if err == nil {
			_, err = s.cfg.Store.SetPassword(c.Request().Context(), s.actor(c), who, hash)
		}
		return err
	})
}

// removePerson takes the account of somebody else away, whose name was typed.
func (s *Server) removePerson(c echo.Context) error {
	return s.changeByForm(c, views.FlashRemoved, views.PersonPage{Removing: true}, func(who store.SeenPerson, sent url.Values) error {
		if sent.Get(views.FieldName) != who.Name {
			return &store.InvalidError{Field: views.FieldName, Message: "must be the account's name as it stands above"}
		}
		_, err := s.cfg.Store.RemovePerson(c.Request().Context(), s.actor(c), who)
		return err
	})
}

// changeByForm changes somebody else's account and leads back to it, or to all of
// them where it is gone; refused shows why not.
func (s *Server) changeByForm(c echo.Context, done views.Flash, refused views.PersonPage, change func(store.SeenPerson, url.Values) error) error {
	of, err := s.othersAccount(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	who, err := s.seenPerson(of, sent)
	if err == nil {
		err = change(who, sent)
	}
	switch {
	case err == nil && done == views.FlashRemoved:
		return c.Redirect(http.StatusSeeOther, s.urls.At(views.RoutePeople)+"?"+views.ParamDone+"="+string(done))
	case err == nil:
		return c.Redirect(http.StatusSeeOther, s.urls.Person(of.ID)+"?"+views.ParamDone+"="+string(done))
	case errors.As(err, &refused.Conflict):
		refused.Person, refused.Word, refused.Removing = refused.Conflict.Person, false, false
	case errors.As(err, &refused.Problem):
		refused.Person = of
	default:
		return err
	}
	return s.showPerson(c, explain(err).Status, refused)
}

// accountOf reads which account a path names, and who that is now.
func (s *Server) accountOf(c echo.Context) (store.Person, error) {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return store.Person{}, store.ErrNoPerson
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

// setPowers changes what somebody may do, bound to what was seen.
func (s *Server) setPowers(c echo.Context) error {
	of, err := s.othersAccount(c)
	if err != nil {
		return err
	}
	sent, err := form(c)
	if err != nil {
		return err
	}
	who, err := s.seenPerson(of, sent)
	if err != nil {
		return err
	}
	_, err = s.cfg.Store.SetPowers(c.Request().Context(), s.actor(c), who, powersIn(sent))
	return s.personChanged(c, of, views.FlashPowers, sent, err)
}

type changePerson func(*store.Store, context.Context, string, store.SeenPerson) (store.Person, error)

// changeAccount disables an account or enables it again, bound to what was seen.
func (s *Server) changeAccount(change changePerson, done views.Flash) echo.HandlerFunc {
	return func(c echo.Context) error {
		of, err := s.othersAccount(c)
		if err != nil {
			return err
		}
		sent, err := form(c)
		if err != nil {
			return err
		}
		who, err := s.seenPerson(of, sent)
		if err != nil {
			return err
		}
		_, err = change(s.cfg.Store, c.Request().Context(), s.actor(c), who)
		return s.personChanged(c, of, done, nil, err)
	}
}

// personChanged leads back to an account that was changed, or shows why it was
// not, with what was typed.
func (s *Server) personChanged(c echo.Context, of store.Person, done views.Flash, typed url.Values, err error) error {
	if err == nil {
		return c.Redirect(http.StatusSeeOther, s.urls.Person(of.ID)+"?"+views.ParamDone+"="+string(done))
	}
	p := views.PersonPage{Person: of, Powers: typed}
	switch {
	case errors.As(err, &p.Conflict):
		p.Person = p.Conflict.Person
	case !errors.As(err, &p.Problem):
		return err
	}
	return s.showPerson(c, explain(err).Status, p)
}

func (s *Server) seenPerson(of store.Person, sent url.Values) (store.SeenPerson, error) {
	revision, ok := parseID(sent.Get(views.FieldSeen))
	if !ok {
		return store.SeenPerson{}, &store.InvalidError{Field: views.FieldSeen, Message: "must be the revision of the account that you looked at"}
	}
	return store.SeenPerson{Name: of.Name, Revision: revision, Elsewhere: s.proxyNamesAdmins()}, nil
}

// proxyNamesAdmins reports whether people without an account can be admins.
func (s *Server) proxyNamesAdmins() bool {
	p := s.cfg.SignIn.Proxied
	return p != nil && slices.ContainsFunc(p.Grants, func(g Grant) bool { return g.Powers.Role == store.RoleAdmin })
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
	return s.personChanged(c, of, views.FlashSignOuts, nil, nil)
}

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
	id, ok := parseID(c.Param("id"))
	if !ok {
		return store.ErrNoToken
	}
	t, err := s.cfg.Store.RemoveTokenOf(c.Request().Context(), s.actor(c), id)
	if err != nil {
		return err
	}
	return s.personChanged(c, t.Person, views.FlashRevoked, nil, nil)
}
