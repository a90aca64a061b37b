package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web/access"
)

// What a session holds.
const (
	sessionPerson  = "person" // the id of the account
	sessionAddress = "address"
	sessionAgent   = "agent"
)

// newSessions is the manager of browsers' sessions. It is used to begin and end
// them; that one goes on is a statement of its own, so that a request under way
// never brings one back that was ended meanwhile.
func newSessions(s *store.Store, in *SignIn, prefix string) *scs.SessionManager {
	// Not by scs.New, which starts a goroutine for sessions in memory.
	m := &scs.SessionManager{
		Store: keptSessions{store: s, idle: in.Idle}, Codec: scs.GobCodec{}, IdleTimeout: in.Idle, Lifetime: in.Lifetime,
		Cookie: scs.SessionCookie{
			Name: "fenceline" + strings.ReplaceAll(prefix, "/", "-"), Path: "/", HttpOnly: true,
			SameSite: http.SameSiteLaxMode, // a link from elsewhere finds people signed in
		},
	}
	if in.secure() {
		m.Cookie.Name, m.Cookie.Secure = "__Host-"+m.Cookie.Name, true
	}
	return m
}

// keptSessions keeps sessions in the database, under the hashes of their tokens.
type keptSessions struct {
	store *store.Store
	idle  time.Duration
}

var _ scs.CtxStore = keptSessions{}

// FindCtx is of [scs.CtxStore].
func (k keptSessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return k.store.FindSignIn(ctx, access.Hash(token))
}

// DeleteCtx is of [scs.CtxStore].
func (k keptSessions) DeleteCtx(ctx context.Context, token string) error {
	return k.store.EndSignIn(ctx, access.Hash(token))
}

// CommitCtx is of [scs.CtxStore].
func (k keptSessions) CommitCtx(ctx context.Context, token string, data []byte, _ time.Time) error {
	deadline, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return err
	}
	kept := store.KeptSignIn{TokenHash: access.Hash(token), Data: data, Idle: k.idle, Most: time.Until(deadline)}
	kept.PersonID, _ = values[sessionPerson].(int64)
	kept.Fitted, _ = ctx.Value(fittedKey{}).(string)
	kept.Address, _ = values[sessionAddress].(string)
	kept.Agent, _ = values[sessionAgent].(string)
	return k.store.KeepSignIn(ctx, kept)
}

// fittedKey holds the hash that a password was compared with, which is kept in no
// session.
type fittedKey struct{}

var errNoContext = errors.New("sessions are used with a context")

// Find is of [scs.Store].
func (keptSessions) Find(string) ([]byte, bool, error) { return nil, false, errNoContext }

// Delete is of [scs.Store].
func (keptSessions) Delete(string) error { return errNoContext }

// Commit is of [scs.Store].
func (keptSessions) Commit(string, []byte, time.Time) error { return errNoContext }

// keepSession stores the session and gives its token to the browser.
func (s *Server) keepSession(ctx context.Context, c echo.Context) error {
	token, expiry, err := s.sessions.Commit(ctx)
	if err != nil {
		return err
	}
	s.sessions.WriteSessionCookie(ctx, c.Response(), token, expiry)
	c.Response().Header().Set("Cache-Control", safeHeaders["Cache-Control"])
	return nil
}

// begin signs a person in: under a new token and with nothing of what the
// browser had before, so that no one else's session is taken over or left open.
// fitted is the hash that their password was compared with, empty for whom
// somebody else vouches. [store.ErrNoPerson] when that holds no more.
func (s *Server) begin(c echo.Context, p store.Person, fitted string) error {
	if cookie, err := c.Request().Cookie(s.sessions.Cookie.Name); err == nil {
		if err := s.cfg.Store.EndSignIn(c.Request().Context(), access.Hash(cookie.Value)); err != nil {
			return err
		}
	}
	ctx, err := s.sessions.Load(context.WithValue(c.Request().Context(), fittedKey{}, fitted), "")
	if err != nil {
		return err
	}
	s.sessions.Put(ctx, sessionPerson, p.ID)
	s.sessions.Put(ctx, sessionAddress, c.RealIP())
	s.sessions.Put(ctx, sessionAgent, cutText(c.Request().UserAgent(), 300))
	if err := s.keepSession(ctx, c); err != nil {
		return err
	}
	return s.cfg.Store.NoteSignIn(c.Request().Context(), p.ID, p.Name, c.RealIP())
}

// cutText makes a text of a client short and fit to be stored.
func cutText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
