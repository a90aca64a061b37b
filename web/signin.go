package web

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
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

// SignIn says how people prove who they are. Without one, whoever reaches the
// console acts as its one local operator.
type SignIn struct {
	Passwords bool      // with a name and a password that are kept here
	Provider  *Provider // through an OpenID provider; nil for none
	Proxied   *Proxied  // by what a proxy in front says; nil for none

	// Proxies are from where proxies in front connect: what these say of their
	// clients' addresses is believed. Without it whoever comes through one shares
	// its address, by which tries are slowed.
	Proxies []netip.Prefix

	// Origin is how people's browsers reach the console, as
	// "https://jobs.example.org". With https, cookies are sent over TLS only and
	// browsers are told to use nothing else.
	Origin string

	Idle     time.Duration // a session that is not used ends after it; 1 h
	Lifetime time.Duration // every session ends after it; 12 h
}

func (in *SignIn) secure() bool { return strings.HasPrefix(in.Origin, "https://") }

// How tries are slowed: those of one account, whoever makes them, and those of
// one address, whatever they are for. An account is held for a short time only,
// so that nobody can keep its owner out.
const (
	triesOfAccount, holdAccount = 5, time.Minute
	triesOfAddress, holdAddress = 20, 15 * time.Minute
)

const (
	maxSignInForm = 8*maxForm + 8<<10 // a kept form is encoded twice
	wrongSignIn   = "That name and password do not fit."
)

func (s *Server) signInPage(c echo.Context) views.SignInPage {
	p := views.SignInPage{Frame: s.frame(c), Passwords: s.cfg.SignIn.Passwords}
	if in := s.cfg.SignIn.Provider; in != nil {
		p.Provider = in.name()
	}
	return p
}

// withSignIn refuses an address where nobody signs in.
func (s *Server) withSignIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.cfg.SignIn == nil {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// signIn shows the sign-in page, or goes on where somebody is signed in already.
func (s *Server) signIn(c echo.Context) error {
	next := localPath(c.QueryParam(views.FieldNext))
	p, err := s.identify(c)
	if err != nil {
		return err
	}
	if p.name != "" {
		return c.Redirect(http.StatusSeeOther, s.urls.Base+orElse(next, views.RouteHome))
	}
	if s.cfg.SignIn.Passwords && s.cfg.SignIn.Provider == nil {
		any, err := s.cfg.Store.AnybodySignsIn(c.Request().Context())
		if err != nil {
			return err
		}
		if !any {
			return c.Redirect(http.StatusSeeOther, s.urls.At(views.RouteSetUp))
		}
	}
	show := s.signInPage(c)
	show.Next = next
	return page(c, http.StatusOK, views.SignIn(show))
}

// enter is a name and a password.
func (s *Server) enter(c echo.Context) error {
	if !s.cfg.SignIn.Passwords {
		return echo.ErrNotFound
	}
	sent, err := formUpTo(c, maxSignInForm)
	if err != nil {
		return err
	}
	show := s.signInPage(c)
	show.Name, show.Next, show.Kept = sent.Get(views.FieldName), localPath(sent.Get(views.FieldNext)), s.keptIn(sent)
	p, fitted, wait, err := s.checkPassword(c, show.Name, sent.Get(views.FieldPassword))
	switch {
	case err != nil:
		return err
	case wait > 0:
		show.Problem = "Too many tries. Wait " + waitText(wait) + ", then try again."
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds()+1)))
		return page(c, http.StatusTooManyRequests, views.SignIn(show))
	case p.ID == 0:
		show.Problem = wrongSignIn
		return page(c, http.StatusUnauthorized, views.SignIn(show))
	}
	err = s.begin(c, p, fitted)
	if errors.Is(err, store.ErrNoPerson) {
		show.Problem = wrongSignIn
		return page(c, http.StatusUnauthorized, views.SignIn(show))
	}
	if err != nil {
		return err
	}
	return s.goOn(c, p, show.Next, show.Kept)
}

func waitText(d time.Duration) string {
	if d > 2*time.Minute {
		return strconv.Itoa(int(d.Minutes())+1) + " minutes"
	}
	if d < time.Second {
		return "a second"
	}
	return strconv.Itoa(int(d.Seconds())+1) + " seconds"
}

// goOn leads a person who has just signed in to where they were going.
func (s *Server) goOn(c echo.Context, p store.Person, next string, kept views.Kept) error {
	if kept.Path == "" {
		return c.Redirect(http.StatusSeeOther, s.urls.Base+orElse(next, views.RouteHome))
	}
	c.Set(keyPerson, person{name: p.Name, Powers: p.Powers, id: p.ID})
	return page(c, http.StatusOK, views.Resend(views.ResendPage{Frame: s.frame(c), Kept: kept}))
}

// checkPassword finds who signs in, nobody when name and password do not fit,
// with the hash that fitted, or says how long to wait before trying at all. Every
// try costs the same time.
func (s *Server) checkPassword(c echo.Context, name, password string) (p store.Person, fitted string, wait time.Duration, err error) {
	ctx, address := c.Request().Context(), c.RealIP()
	account, place := "account:"+access.Hash(name), "address:"+network(address)
	wait, err = s.cfg.Store.TryNow(ctx, store.Brake{Key: account, Free: triesOfAccount, Most: holdAccount}, store.Brake{Key: place, Free: triesOfAddress, Most: holdAddress})
	if err != nil || wait > 0 {
		return p, "", wait, err
	}
	p, hash, err := s.findAccount(ctx, name)
	if err != nil {
		return p, "", 0, err
	}
	fits := false
	if len(password) <= 4*access.MaxPassword {
		if fits, err = access.PasswordFits(ctx, password, hash); err != nil {
			return p, "", 0, err
		}
	}
	if fits {
		return p, hash, 0, s.cfg.Store.Succeeded(ctx, account, place)
	}
	// What was typed as a name can be a password.
	return store.Person{}, "", 0, s.cfg.Store.RecordSignIn(ctx, orElse(p.Name, "unknown"), "sign_in", "refused", address)
}

func (s *Server) findAccount(ctx context.Context, name string) (store.Person, string, error) {
	p, hash, err := s.cfg.Store.PasswordOf(ctx, name)
	if errors.Is(err, store.ErrNoPerson) {
		return store.Person{}, "", nil
	}
	if !p.DisabledAt.IsZero() {
		return p, "", err // tried as long as any other, and recorded under the name
	}
	return p, hash, err
}

func (s *Server) signOut(c echo.Context) error {
	if _, err := form(c); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.cfg.Store.EndSignIn(ctx, s.who(c).session); err != nil {
		return err
	}
	if err := s.cfg.Store.RecordSignIn(ctx, s.actor(c), "sign_out", "done", c.RealIP()); err != nil {
		return err
	}
	s.sessions.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	c.Response().Header().Set("Cache-Control", safeHeaders["Cache-Control"])
	c.Response().Header().Set("Clear-Site-Data", `"cache"`)
	return c.Redirect(http.StatusSeeOther, s.urls.At(views.RouteSignIn))
}

// localPath returns a path of this console, with its query, or nothing for
// whatever could lead elsewhere.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || len(text) > 8<<10 ||
		!strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return ""
	}
	return u.RequestURI()
}

// notKept are the forms that are never sent again for somebody.
var notKept = []string{views.RouteSignIn, views.RouteSignOut, views.RouteSetUp, views.RoutePassword, views.RouteEndSignIns, views.RoutePersonPassword, views.RouteProvider}

// keptIn reads the form that a sign-in carries. One that is not for an address
// of the console that takes forms is dropped.
func (s *Server) keptIn(sent url.Values) views.Kept {
	path := sent.Get(views.FieldKeptPath)
	kept, err := url.ParseQuery(sent.Get(views.FieldKeptForm))
	never := slices.ContainsFunc(notKept, func(route string) bool { return fitsRoute(route, path) })
	if err != nil || localPath(path) != path || strings.HasPrefix(path, "/api/") || never {
		return views.Kept{}
	}
	for _, r := range s.routes() {
		if r.method == http.MethodPost && fitsRoute(r.path, path) {
			return views.Kept{Path: path, Form: keepable(kept)}
		}
	}
	return views.Kept{}
}

// fitsRoute reports whether a path is one of a route's.
func fitsRoute(route, path string) bool {
	want, have := strings.Split(route, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != have[i] && !(strings.HasPrefix(want[i], ":") && have[i] != "") {
			return false
		}
	}
	return true
}

// keepable is a form without what may be kept nowhere.
func keepable(form url.Values) url.Values {
	out := url.Values{}
	for name, values := range form {
		if name != views.FieldPassword && name != views.FieldNewPassword && name != views.FieldCode && len(values) > 0 {
			out[name] = values[:1]
		}
	}
	return out
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
