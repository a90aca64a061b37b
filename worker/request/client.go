package request

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/worker/internal/outcome"
)

// target is one that has been checked, with connections of its own.
type target struct {
	address   *url.URL
	headers   http.Header
	fields    map[string]json.RawMessage
	key       []byte // empty when bodies are not signed
	timeout   time.Duration
	transport *http.Transport
	secrets   []string // the longest first
	masks     *strings.Replacer
}

const (
	maxConns     = 64 // to a target; more requests at once wait for one
	maxIdle      = 8  // kept for later requests
	idleFor      = 30 * time.Second
	maxHeader    = 64 << 10 // bytes of an answer's headers
	maxBody      = 64 << 10 // bytes of an answer's body
	maxAuthority = 1 << 20  // bytes of a file of certificates
)

// newTarget checks a target. The error begins with the name of the field.
func newTarget(given Target, resolver *net.Resolver) (*target, error) {
	t := &target{fields: given.Fields}
	var roots *x509.CertPool
	var err error
	for _, field := range []struct {
		name  string
		check func() error
	}{
		{"url", func() error { t.address, err = given.address(); return err }},
		{"headers", func() error { t.headers, err = given.headers(); return err }},
		{"fields", given.checkFields},
		{"secret", func() error { t.key, err = given.key(); return err }},
		{"timeout", func() error { t.timeout, err = given.timeout(); return err }},
		{"ca_file", func() error { roots, err = authorities(given.CAFile); return err }},
	} {
		if err := field.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", field.name, err)
		}
	}
	t.secrets = given.secrets()
	// The first that fits is replaced: one that begins with another comes before it.
	slices.SortStableFunc(t.secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range t.secrets {
		pairs = append(pairs, secret, outcome.Masked)
	}
	t.masks = strings.NewReplacer(pairs...)
	// The client's certificates, proxies and cookies are left out on purpose: a
	// transport of one's own has none.
	dialer := &net.Dialer{Timeout: t.timeout, Resolver: resolver, Control: guard(given.Allow)}
	t.transport = &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, DisableCompression: true, TLSHandshakeTimeout: t.timeout,
		MaxConnsPerHost: maxConns, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleFor, MaxResponseHeaderBytes: maxHeader,
	}
	return t, nil
}

// authorities reads who is trusted; nil means those of the system.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxAuthority {
		return nil, fmt.Errorf("is %d bytes long; the limit is %d", info.Size(), maxAuthority)
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM")
	}
	return roots, nil
}

// place is the target's address with a path, which has been checked, below it.
func (t *target) place(path string) (*url.URL, error) {
	u := *t.address
	if path == "" {
		return &u, nil
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, err
	}
	u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + "/" + path
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + plain
	return &u, nil
}
