package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
	"github.com/fenceline/fenceline/web/access"
)

const keyPerson = "person"

// person is who sent a request, as far as it proved that.
type person struct {
	name string // who acts; empty for nobody
	store.Powers
	id      int64  // of an account; 0 for who has none here
	session string // the hash of the token of the browser's session; empty without one
	token   int64  // of a program, which acts by one; 0 for a person
}

// local is who acts where nobody signs in.
var local = person{name: Actor, Powers: store.Powers{Role: store.RoleAdmin}}

// who returns who sent the request, nobody where that was not asked.
func (s *Server) who(c echo.Context) person {
	if s.cfg.SignIn == nil {
		return local
	}
	p, _ := c.Get(keyPerson).(person)
	return p
}

// actor is as whom a request's changes are recorded.
func (s *Server) actor(c echo.Context) string { return s.who(c).name }

// identify finds out who sent a request, and counts it as use of their session.
func (s *Server) identify(c echo.Context) (person, error) {
	p, err := s.proven(c)
	r := c.Request()
	if err != nil || p.name == "" || p.token != 0 || s.cfg.SignIn == nil {
		return p, err
	}
	// Of a program that has a browser's cookie nobody knows which page sent it.
	silent := r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
	if silent && !readOnly(r.Method) {
		return person{}, crossOrigin("This write did not say which page it came from. Programs sign in with a token. Nothing was changed.", nil)
	}
	// What a page does by itself is no use of it.
	if p.session != "" && r.URL.Path != views.RouteStream {
		if err := s.cfg.Store.UseSignIn(r.Context(), p.session, s.cfg.SignIn.Idle); err != nil {
			s.cfg.Log.Warn("a sign-in could not be prolonged", keyRequestID, c.Get(keyRequestID), "error", err)
		}
	}
	return p, nil
}

// proven finds out who sent a request, from what it proves and from nothing that
// it says. With an error it returns who was refused, as far as that is known.
func (s *Server) proven(c echo.Context) (person, error) {
	r := c.Request()
	if s.cfg.SignIn == nil {
		return local, nil
	}
	if _, given := r.Header["Authorization"]; given && takesTokens(r) {
		return s.ofToken(c)
	}
	p, err := s.ofProxy(c)
	if err == nil && p.name == "" {
		p, err = s.ofSession(c)
	}
	return p, err
}

// takesTokens reports whether an address is for programs.
func takesTokens(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == routeMetrics
}

func (s *Server) ofSession(c echo.Context) (person, error) {
	cookie, err := c.Request().Cookie(s.sessions.Cookie.Name)
	if err != nil || cookie.Value == "" {
		return person{}, nil
	}
	ctx, hash := c.Request().Context(), access.Hash(cookie.Value)
	p, err := s.cfg.Store.SignedIn(ctx, hash)
	if errors.Is(err, store.ErrNoPerson) {
		return person{}, nil
	}
	if err != nil {
		return person{}, err
	}
	return person{name: p.Name, Powers: p.Powers, id: p.ID, session: hash}, nil
}

// askToSignIn answers who is nobody. A browser that goes somewhere is led to the
// sign-in page and back; one that sent a form keeps what was typed into it.
func (s *Server) askToSignIn(c echo.Context) error {
	r := c.Request()
	if takesTokens(r) {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="fenceline"`)
		return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "Send a token that is valid, as in Authorization: Bearer …"}
	}
	mode := r.Header.Get("Sec-Fetch-Mode")
	if !readOnly(r.Method) {
		sent, err := form(c)
		var large *http.MaxBytesError
		if err != nil && !errors.As(err, &large) {
			return err
		}
		p := s.signInPage(c)
		if large != nil || sent.Has(views.FieldArgs) {
			p.Problem = "You are not signed in any more. Nothing was changed. A job’s arguments are kept nowhere else: what you typed is still there when you go back in your browser, having signed in in another tab."
		} else {
			p.Kept = views.Kept{Path: r.URL.Path, Form: keepable(sent)}
			p.Problem = "You are not signed in any more. Nothing was changed; what you typed is kept until you are."
		}
		return page(c, http.StatusUnauthorized, views.SignIn(p))
	}
	if mode != "" && mode != "navigate" || inPlainText[r.URL.Path] {
		return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "You are not signed in any more."}
	}
	next := r.URL.Path
	if r.URL.RawQuery != "" {
		next += "?" + r.URL.RawQuery
	}
	return c.Redirect(http.StatusSeeOther, s.urls.SignIn(next))
}

// unchanged reports whether a stream's reader is still who they were when it
// was opened, with the same powers.
func (s *Server) unchanged(c echo.Context) (bool, error) {
	if s.cfg.SignIn == nil {
		return true, nil
	}
	was := s.who(c)
	is, err := s.proven(c) // what a stream does by itself is no use of a session
	var refused *problem
	if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError {
		return false, nil
	}
	return err != nil || is.name == was.name && class(is.Powers) == class(was.Powers), err
}

type powersKey struct{}

func withPowers(ctx context.Context, p store.Powers) context.Context {
	return context.WithValue(ctx, powersKey{}, p)
}

// powersOf are those of who asks, or of those for whom a room renders.
func powersOf(ctx context.Context) store.Powers {
	p, _ := ctx.Value(powersKey{}).(store.Powers)
	return p
}

// class names what pages look the same for.
func class(p store.Powers) string {
	if p.Queues == nil && p.Role == store.RoleAdmin {
		return ""
	}
	words := []string{string(p.Role)}
	for _, r := range store.Rights {
		if p.Has(r) {
			words = append(words, string(r))
		}
	}
	if p.Queues != nil {
		queues := slices.Clone(p.Queues)
		slices.Sort(queues)
		words = append(words, "in:"+strings.Join(queues, "\x00"))
	}
	return strings.Join(words, " ")
}

// limits is what pages show as not allowed.
func limits(p store.Powers) *views.Limits {
	if class(p) == "" {
		return nil
	}
	return &views.Limits{Powers: p}
}
