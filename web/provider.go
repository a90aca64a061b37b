package web

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
	"github.com/fenceline/fenceline/web/access"
)

// Provider is an OpenID provider that vouches for people.
type Provider struct {
	Issuer       string // exactly as the provider names itself
	ClientID     string
	ClientSecret string
	GroupsClaim  string   // the claim that holds a person's groups; "groups"
	Domains      []string // whose verified addresses are let in, exactly; empty for everybody
	Grants       []Grant

	once  sync.Mutex
	found *oidc.Provider
}

const (
	providerPatience = 10 * time.Second // for each answer of the provider
	providerReturn   = 10 * time.Minute // within which a person is back from it
)

// What a session holds while somebody is with the provider.
const (
	sessionState    = "state"
	sessionNonce    = "nonce"
	sessionVerifier = "verifier"
	sessionNext     = "next"
	sessionKeptPath = "kept-path"
	sessionKeptForm = "kept-form"
)

// name is what people call the provider.
func (p *Provider) name() string {
	if u, err := url.Parse(p.Issuer); err == nil && u.Host != "" {
		return u.Host
	}
	return p.Issuer
}

// discover asks the provider once where its parts are. One that is away now is
// asked again by the next who signs in.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.once.Lock()
	defer p.once.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The keys are read again by requests that come later.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), providerClient), p.Issuer)
	if err != nil {
		return nil, &problem{Status: http.StatusServiceUnavailable, Code: "provider_unavailable", Message: "The provider through which people sign in does not answer.", Retry: 5 * time.Second, cause: err}
	}
	p.found = found
	return found, nil
}

// providerClient follows no redirect: where the provider is was configured.
var providerClient = &http.Client{
	Timeout:       providerPatience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (s *Server) oauth(found *oidc.Provider) *oauth2.Config {
	p := s.cfg.SignIn.Provider
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: s.cfg.SignIn.Origin + s.urls.At(views.RouteReturn), Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// toProvider leads a browser to the provider and remembers with which question.
func (s *Server) toProvider(c echo.Context) error {
	p := s.cfg.SignIn.Provider
	if p == nil {
		return echo.ErrNotFound
	}
	sent, err := formUpTo(c, maxSignInForm)
	if err != nil {
		return err
	}
	found, err := p.discover(c.Request().Context())
	if err != nil {
		return err
	}
	ctx, err := s.sessions.Load(c.Request().Context(), "")
	if err != nil {
		return err
	}
	state, nonce, verifier, kept := access.NewCode(), access.NewCode(), oauth2.GenerateVerifier(), s.keptIn(sent)
	for name, value := range map[string]string{
		sessionState: state, sessionNonce: nonce, sessionVerifier: verifier, sessionNext: localPath(sent.Get(views.FieldNext)),
		sessionKeptPath: kept.Path, sessionKeptForm: kept.Form.Encode(),
	} {
		s.sessions.Put(ctx, name, value)
	}
	s.sessions.SetDeadline(ctx, time.Now().Add(providerReturn))
	if err := s.keepSession(ctx, c); err != nil {
		return err
	}
	to := s.oauth(found).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	// Not a redirect: a form may be sent to this console only, and browsers hold
	// where its answer leads to the same rule.
	c.Response().Header().Set("Refresh", "0; url="+to)
	return page(c, http.StatusOK, views.ToProvider(views.ToProviderPage{Frame: s.frame(c), Provider: p.name(), To: to}))
}

// claims is what a provider tells of a person.
type claims struct {
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
	Username string `json:"preferred_username"`
	groups   []string
}

// fromProvider is a browser that comes back.
func (s *Server) fromProvider(c echo.Context) error {
	in := s.cfg.SignIn.Provider
	if in == nil {
		return echo.ErrNotFound
	}
	cookie, err := c.Request().Cookie(s.sessions.Cookie.Name)
	if err != nil {
		return s.notVouched(c, "unknown", "You were away for too long. Sign in again.")
	}
	ctx, err := s.sessions.Load(c.Request().Context(), cookie.Value)
	if err != nil {
		return err
	}
	state := s.sessions.GetString(ctx, sessionState)
	if state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(c.QueryParam("state"))) != 1 {
		return s.notVouched(c, "unknown", "This is not the answer to the question that this browser asked. Sign in again.")
	}
	// An answer is used once, whatever becomes of it.
	if err := s.cfg.Store.EndSignIn(ctx, access.Hash(cookie.Value)); err != nil {
		return err
	}
	token, told, err := s.ask(ctx, c.QueryParam("code"))
	if err != nil {
		s.cfg.Log.Warn("the provider's answer was refused", keyRequestID, c.Get(keyRequestID), "error", err)
		return s.notVouched(c, "unknown", "The provider did not vouch for you.")
	}
	name, powers, why := in.admit(told)
	if why != "" {
		// The provider says who it is, and lets them in no more.
		if err := s.cfg.Store.NotVouched(ctx, token.Issuer, token.Subject); err != nil {
			return err
		}
		return s.notVouched(c, cmp.Or(name, "unknown"), why)
	}
	p, err := s.cfg.Store.Vouched(ctx, token.Issuer, token.Subject, name, powers)
	var invalid *store.InvalidError
	if errors.As(err, &invalid) {
		return s.notVouched(c, name, "Your name "+invalid.Message+".")
	}
	if errors.Is(err, store.ErrDisabled) {
		return s.notVouched(c, name, "Your account is disabled here.")
	}
	if err != nil {
		return err
	}
	next, path, form := s.sessions.GetString(ctx, sessionNext), s.sessions.GetString(ctx, sessionKeptPath), s.sessions.GetString(ctx, sessionKeptForm)
	if err := s.begin(c, p, ""); err != nil {
		return err
	}
	return s.goOn(c, p, next, s.keptIn(url.Values{views.FieldKeptPath: {path}, views.FieldKeptForm: {form}}))
}

// ask changes the code for a token and checks that: whose it is, for whom, until
// when, and that it answers the question of this session.
func (s *Server) ask(ctx context.Context, code string) (*oidc.IDToken, claims, error) {
	in := s.cfg.SignIn.Provider
	var told claims
	found, err := in.discover(ctx)
	if err != nil {
		return nil, told, err
	}
	ctx = oidc.ClientContext(ctx, providerClient)
	answer, err := s.oauth(found).Exchange(ctx, code, oauth2.VerifierOption(s.sessions.GetString(ctx, sessionVerifier)))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) { // its text quotes the provider's answer
			return nil, told, errors.New("the code was refused: " + cutText(refused.ErrorCode, 60))
		}
		return nil, told, err
	}
	raw, _ := answer.Extra("id_token").(string)
	token, err := found.Verifier(&oidc.Config{ClientID: in.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, told, err
	}
	var party struct {
		Authorized string `json:"azp"`
	}
	if err := token.Claims(&party); err != nil {
		return nil, told, err
	}
	if party.Authorized != "" && party.Authorized != in.ClientID {
		return nil, told, errors.New("the token was made for another client")
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(s.sessions.GetString(ctx, sessionNonce))) != 1 {
		return nil, told, errors.New("the token answers another question")
	}
	var all map[string]any
	if err := errors.Join(token.Claims(&told), token.Claims(&all)); err != nil {
		return nil, told, err
	}
	switch groups := all[cmp.Or(in.GroupsClaim, "groups")].(type) {
	case string:
		told.groups = []string{groups}
	case []any:
		for _, g := range groups {
			if name, ok := g.(string); ok {
				told.groups = append(told.groups, name)
			}
		}
	}
	return token, told, nil
}

// admit says under which name and with which powers somebody is let in, or why
// not.
func (p *Provider) admit(told claims) (name string, powers store.Powers, why string) {
	name = told.Username
	if told.Verified && told.Email != "" {
		name = told.Email
	}
	if store.CheckPersonName(name) != nil {
		return "", powers, "The provider tells no name that can be recorded."
	}
	if len(p.Domains) > 0 {
		at := strings.LastIndexByte(told.Email, '@')
		if !told.Verified || at < 1 || !slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, told.Email[at+1:]) }) {
			return name, powers, "Your address is not one of those that are let in."
		}
	}
	powers, any := granted(p.Grants, told.groups)
	if !any {
		return name, powers, "You are known, but none of your groups may use this console."
	}
	return name, powers, ""
}

// notVouched shows the sign-in page again, with why. Of one address only so many
// are recorded: anybody can come here as often as they like.
func (s *Server) notVouched(c echo.Context, name, why string) error {
	ctx := c.Request().Context()
	wait, err := s.cfg.Store.TryNow(ctx, store.Brake{Key: "return:" + network(c.RealIP()), Free: triesOfAddress, Most: holdAddress})
	if err == nil && wait == 0 {
		err = s.cfg.Store.RecordSignIn(ctx, name, "sign_in", "refused", c.RealIP())
	}
	if err != nil {
		return err
	}
	show := s.signInPage(c)
	show.Problem = why
	return page(c, http.StatusForbidden, views.SignIn(show))
}
