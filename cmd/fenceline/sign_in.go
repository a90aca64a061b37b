package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/access"
	"github.com/fenceline/fenceline/web"
)

// signIn says how people prove who they are to the console.
type signIn struct {
	Ways    []string      `name:"sign-in" env:"FENCELINE_SIGN_IN" placeholder:"WAY" group:"Sign-in" help:"How people sign in: passwords. Without it nobody has to, and the console listens on loopback only."`
	Public  string        `name:"public-url" env:"FENCELINE_PUBLIC_URL" placeholder:"URL" group:"Sign-in" help:"How people's browsers reach the console, without the path, as https://jobs.example.org."`
	Idle    time.Duration `name:"session-idle" env:"FENCELINE_SESSION_IDLE" default:"1h" group:"Sign-in" help:"A session that is not used ends after this time."`
	Life    time.Duration `name:"session-life" env:"FENCELINE_SESSION_LIFE" default:"12h" group:"Sign-in" help:"Every session ends after this time."`
	TLSCert string        `name:"tls-cert" env:"FENCELINE_TLS_CERT" placeholder:"FILE" group:"Sign-in" help:"Serve over TLS with this certificate, in PEM, its chain included."`
	TLSKey  string        `name:"tls-key" env:"FENCELINE_TLS_KEY" placeholder:"FILE" group:"Sign-in" help:"The certificate's key, in PEM."`
}

const wayPasswords = "passwords"

// check reads what was said about signing in, and whether it lets the console
// listen on an address.
func (c *signIn) check(listen string) error {
	for _, way := range c.Ways {
		if way != wayPasswords {
			return usagef("--sign-in: %q is not a way to sign in; there is passwords", way)
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
	return nil
}

// asked is nil when nobody has to sign in. addr is where the console listens.
func (c *signIn) asked(addr net.Addr) *web.SignIn {
	if len(c.Ways) == 0 {
		return nil
	}
	return &web.SignIn{Passwords: slices.Contains(c.Ways, wayPasswords), Origin: c.origin(addr), Idle: c.Idle, Lifetime: c.Life}
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
