package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web"
	"github.com/fenceline/fenceline/web/access"
)

// signIn says how people prove who they are to the console.
type signIn struct {
	Ways    []string      `name:"sign-in" env:"FENCELINE_SIGN_IN" placeholder:"WAY" group:"Sign-in" help:"How people sign in: passwords, oidc through an OpenID provider, proxy by what a proxy in front says. May be repeated. Without it nobody has to, and the console listens on loopback only."`
	Public  string        `name:"public-url" env:"FENCELINE_PUBLIC_URL" placeholder:"URL" group:"Sign-in" help:"How people's browsers reach the console, without the path, as https://jobs.example.org."`
	Idle    time.Duration `name:"session-idle" env:"FENCELINE_SESSION_IDLE" default:"1h" group:"Sign-in" help:"A session that is not used ends after this time."`
	Life    time.Duration `name:"session-life" env:"FENCELINE_SESSION_LIFE" default:"12h" group:"Sign-in" help:"Every session ends after this time."`
	Grants  []grant       `name:"grant" env:"FENCELINE_GRANT" placeholder:"GROUP=ROLE" group:"Sign-in" help:"What a group of the provider or the proxy may do, as ops=operator+bulk or mail=operator@mail; the group * is everybody who is let in. May be repeated."`
	Issuer  string        `name:"oidc-issuer" env:"FENCELINE_OIDC_ISSUER" placeholder:"URL" group:"Sign-in" help:"The OpenID provider, as it names itself."`
	Client  string        `name:"oidc-client" env:"FENCELINE_OIDC_CLIENT" placeholder:"ID" group:"Sign-in" help:"The client that the provider knows the console as."`
	Secret  string        `name:"oidc-secret" env:"FENCELINE_OIDC_SECRET" placeholder:"SECRET" group:"Sign-in" help:"The client's secret. Better given by the environment: a command line is visible to others."`
	Domains []string      `name:"oidc-domain" env:"FENCELINE_OIDC_DOMAIN" placeholder:"DOMAIN" group:"Sign-in" help:"Lets in whose verified address has exactly this domain; without one, every domain. May be repeated."`
	Claim   string        `name:"oidc-groups" env:"FENCELINE_OIDC_GROUPS" default:"groups" placeholder:"CLAIM" group:"Sign-in" help:"The claim that holds a person's groups."`
	From    []string      `name:"proxy-from" env:"FENCELINE_PROXY_FROM" placeholder:"NETWORK" group:"Sign-in" help:"From where a proxy in front connects, as 10.0.0.5/32: what it says of its clients' addresses is believed and, with the way proxy, whom it names. Nobody else is. May be repeated."`
	User    string        `name:"proxy-user" env:"FENCELINE_PROXY_USER" default:"X-Forwarded-User" placeholder:"HEADER" group:"Sign-in" help:"The header in which the proxy names the person."`
	Groups  string        `name:"proxy-groups" env:"FENCELINE_PROXY_GROUPS" default:"X-Forwarded-Groups" placeholder:"HEADER" group:"Sign-in" help:"The header in which the proxy tells their groups."`
	Rates   rates         `embed:"" prefix:"rate-" group:"Sign-in"`
	TLSCert string        `name:"tls-cert" env:"FENCELINE_TLS_CERT" placeholder:"FILE" group:"Sign-in" help:"Serve over TLS with this certificate, in PEM, its chain included."`
	TLSKey  string        `name:"tls-key" env:"FENCELINE_TLS_KEY" placeholder:"FILE" group:"Sign-in" help:"The certificate's key, in PEM."`
}

// rates bound what one person may ask; 0 for no bound.
type rates struct {
	Reads     int `name:"reads" env:"FENCELINE_RATE_READS" default:"50" placeholder:"N" help:"How many pages and answers a second one person or token may read, on average; ten times as many at once. 0 for no bound."`
	Changes   int `name:"changes" env:"FENCELINE_RATE_CHANGES" default:"100" placeholder:"N" help:"How many changes a second one person or token may ask for, likewise."`
	Strangers int `name:"strangers" env:"FENCELINE_RATE_STRANGERS" default:"10" placeholder:"N" help:"How many requests a second of either sort one address may send without being signed in, likewise."`
}

func (r rates) check() error {
	for flag, n := range map[string]int{"--rate-reads": r.Reads, "--rate-changes": r.Changes, "--rate-strangers": r.Strangers} {
		if n < 0 || n > maxRate {
			return usagef("%s: %d must be from 0 to %d requests a second", flag, n, maxRate)
		}
	}
	return nil
}

const maxRate = 1_000_000

func (r rates) asked() web.Rates {
	orNone := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return web.Rates{Reads: orNone(r.Reads), Changes: orNone(r.Changes), Strangers: orNone(r.Strangers)}
}

// Ways to sign in.
const (
	wayPasswords = "passwords"
	wayProvider  = "oidc"
	wayProxy     = "proxy"
)

// check reads what was said about signing in, and whether it lets the console
// listen on an address.
func (c *signIn) check(listen string) error {
	for _, way := range c.Ways {
		if way != wayPasswords && way != wayProvider && way != wayProxy {
			return usagef("--sign-in: %q is not a way to sign in; there are passwords, oidc and proxy", way)
		}
	}
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return usagef("--tls-cert and --tls-key: are given together or not at all")
	case c.Idle < time.Minute:
		return usagef("--session-idle: %s must be at least 1m", c.Idle)
	case c.Life < c.Idle:
		return usagef("--session-life: %s must be at least --session-idle, %s", c.Life, c.Idle)
	}
	if c.Public != "" {
		u, err := url.Parse(c.Public)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return usagef("--public-url: %q is not an address as https://jobs.example.org; the path goes into --prefix", c.Public)
		}
	}
	if err := web.CheckListen(listen, len(c.Ways) > 0, c.TLSCert != "" || strings.HasPrefix(c.Public, "https://")); err != nil {
		return usagef("--listen: %w", err)
	}
	return errors.Join(c.Rates.check(), c.checkOthers())
}

// checkOthers reads what was said about those who vouch for people.
func (c *signIn) checkOthers() error {
	provider, proxy := slices.Contains(c.Ways, wayProvider), slices.Contains(c.Ways, wayProxy)
	u, err := url.Parse(c.Issuer)
	switch {
	case provider && (err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" || u.Host == ""):
		return usagef("--oidc-issuer: %q is not the address of a provider, as https://accounts.example.org", c.Issuer)
	case provider && c.Client == "":
		return usagef("--oidc-client: is required with --sign-in oidc")
	case provider && c.Public == "":
		return usagef("--public-url: is required with --sign-in oidc: the provider leads people back there")
	case (provider || proxy) && len(c.Grants) == 0:
		return usagef("--grant: is required with --sign-in oidc and proxy: say what people may do, as ops=operator or *=viewer")
	case proxy && len(c.From) == 0:
		return usagef("--proxy-from: is required with --sign-in proxy: say from where the proxy connects")
	}
	_, err = c.networks()
	return err
}

func (c *signIn) networks() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range c.From {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usagef("--proxy-from: %q is not a network, as 10.0.0.5/32", text)
		}
		out = append(out, network)
	}
	return out, nil
}

// grant is what a group may do.
type grant web.Grant

// UnmarshalText reads GROUP=ROLE, with +RIGHT and @QUEUE behind it as often as
// there are any.
func (g *grant) UnmarshalText(text []byte) error {
	cut := strings.LastIndexByte(string(text), '=')
	if cut < 1 {
		return errors.New("must be GROUP=ROLE, as in ops=operator+bulk")
	}
	words, queues, bounded := strings.Cut(string(text[cut+1:]), "@")
	role, rights, _ := strings.Cut(words, "+")
	g.Group, g.Powers = string(text[:cut]), store.Powers{Role: store.Role(role)}
	if rights != "" {
		for _, r := range strings.Split(rights, "+") {
			g.Powers.Rights = append(g.Powers.Rights, store.Right(r))
		}
	}
	if bounded {
		g.Powers.Queues = strings.Split(queues, "@")
	}
	return g.Powers.Check()
}

// asked is nil when nobody has to sign in. addr is where the console listens.
func (c *signIn) asked(addr net.Addr) *web.SignIn {
	if len(c.Ways) == 0 {
		return nil
	}
	from, _ := c.networks() // checked before anything was started
	in := &web.SignIn{Passwords: slices.Contains(c.Ways, wayPasswords), Proxies: from, Origin: c.origin(addr), Idle: c.Idle, Lifetime: c.Life}
	grants := make([]web.Grant, len(c.Grants))
	for i, g := range c.Grants {
		grants[i] = web.Grant(g)
	}
	if slices.Contains(c.Ways, wayProvider) {
		in.Provider = &web.Provider{Issuer: c.Issuer, ClientID: c.Client, ClientSecret: c.Secret, GroupsClaim: c.Claim, Domains: c.Domains, Grants: grants}
	}
	if slices.Contains(c.Ways, wayProxy) {
		in.Proxied = &web.Proxied{From: from, UserHeader: c.User, GroupsHeader: c.Groups, Grants: grants}
	}
	return in
}

// origin is how people reach the console, as far as anybody said.
func (c *signIn) origin(addr net.Addr) string {
	switch {
	case c.Public != "":
		return strings.TrimRight(c.Public, "/")
	case c.TLSCert != "":
		return "https://" + addr.String()
	}
	return "http://" + addr.String()
}

// hosts are the names under which the console is reached besides those given.
func (c *signIn) hosts() []string {
	if u, err := url.Parse(c.Public); err == nil && u.Host != "" {
		return []string{u.Host}
	}
	return nil
}

// behindUnknown reports whether a proxy in front seems to serve TLS that nobody
// named: everybody then comes from its address, by which tries are slowed.
func (c *signIn) behindUnknown() bool {
	return len(c.Ways) > 0 && len(c.From) == 0 && c.TLSCert == "" && strings.HasPrefix(c.Public, "https://")
}

// secured serves TLS on a listener when there is a certificate.
func (c *signIn) secured(l net.Listener) (net.Listener, error) {
	if c.TLSCert == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, usagef("--tls-cert, --tls-key: %w", err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// setUpLink makes the link with which the first account is made, empty when
// there is one already or nobody signs in with a password. Its code stands
// behind the #, which browsers send to no server.
func (c *signIn) setUpLink(ctx context.Context, s *session, console string) (string, error) {
	if !slices.Contains(c.Ways, wayPasswords) {
		return "", nil
	}
	any, err := s.AnybodySignsIn(ctx)
	if err != nil || any {
		return "", err
	}
	code := access.NewCode()
	if err := s.KeepSetupCode(ctx, access.Hash(code)); err != nil {
		return "", fmt.Errorf("make a set-up link: %w", err)
	}
	return console + "set-up#" + code, nil
}
