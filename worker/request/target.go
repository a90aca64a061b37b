package request

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Target is where requests go, and what they carry that no job may hold.
type Target struct {
	URL     string                     // https or http, without user information and fragment
	Headers map[string]string          // sent with every request
	Fields  map[string]json.RawMessage // put into the JSON object of every body
	Secret  string                     // signs the body when not empty; "whsec_" and base64, or as it is
	Allow   []netip.Prefix             // networks that may be dialled although they are not public
	Timeout time.Duration              // of a whole request, 100ms to 5m; 0 means 10s
	CAFile  string                     // PEM; trusted instead of the system's authorities
}

const (
	defaultTimeout = 10 * time.Second
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = 5 * time.Minute
	maxTarget      = 100 // bytes of a name
)

// Check says what [Register] would refuse. Each error names the field by its
// path, as in "targets.billing.url: …", and none quotes a value.
func Check(targets map[string]Target) error {
	_, err := prepare(targets, nil)
	return err
}

func checkName(name string) error {
	odd := func(r rune) bool { return r > 0x7f || !isAlphanumeric(byte(r)) && !strings.ContainsRune("-_.", r) }
	if name == "" || len(name) > maxTarget || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("a name has 1 to %d letters, digits, -, _ and dots", maxTarget)
	}
	return nil
}

// address reads the URL. Its errors do not quote it: it may be a secret.
func (t Target) address() (*url.URL, error) {
	u, err := url.Parse(t.URL)
	switch {
	case t.URL == "":
		return nil, errors.New("is required")
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("must begin with https:// or http://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("must not hold a user or a password; send them in headers")
	case strings.Contains(t.URL, "#"):
		return nil, errors.New("must not hold a fragment")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !mayDial(a, t.Allow) {
		return nil, errors.New("is at an address that is not public; name its network in allow if requests may go there")
	}
	return u, nil
}

// ours are the headers that say who sends, and those that make up the request.
var ours = map[string]bool{
	"Content-Type": true, "Content-Length": true, "User-Agent": true, "Idempotency-Key": true, "Host": true,
	"Connection": true, "Keep-Alive": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Expect": true, "Accept-Encoding": true,
}

func isOurs(name string) bool {
	return ours[name] || strings.HasPrefix(name, "Fenceline-") || strings.HasPrefix(name, "Webhook-") || strings.HasPrefix(name, "Proxy-")
}

func (t Target) headers() (http.Header, error) {
	all := http.Header{}
	for given, value := range t.Headers {
		name := textproto.CanonicalMIMEHeaderKey(given)
		switch {
		case given == "" || strings.ContainsFunc(given, func(r rune) bool { return !isToken(r) }):
			return nil, fmt.Errorf("%q is not the name of a header", given)
		case isOurs(name):
			return nil, fmt.Errorf("%s is set by Fenceline", name)
		case all[name] != nil:
			return nil, fmt.Errorf("%s is given twice", name)
		case strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }):
			return nil, fmt.Errorf("%s holds a control character", name)
		}
		all.Set(name, value)
	}
	return all, nil
}

func isToken(r rune) bool {
	return r < 0x80 && (isAlphanumeric(byte(r)) || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}

func (t Target) checkFields() error {
	for name, value := range t.Fields {
		if err := store.CheckJSON(name, value, store.MaxArgs); err != nil {
			return err
		}
	}
	return nil
}

// key is what signs bodies; nil for a target that has no secret.
func (t Target) key() ([]byte, error) {
	encoded, is := strings.CutPrefix(t.Secret, "whsec_")
	if !is {
		return []byte(t.Secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("is not base64 behind whsec_")
	}
	return key, nil
}

func (t Target) timeout() (time.Duration, error) {
	switch {
	case t.Timeout == 0:
		return defaultTimeout, nil
	case t.Timeout < minTimeout || t.Timeout > maxTimeout:
		return 0, fmt.Errorf("%s must be between %s and %s", t.Timeout, minTimeout, maxTimeout)
	}
	return t.Timeout, nil
}

// secrets are the texts that must not come back in an answer: values of headers
// and fields, the secret, and what follows the host in the URL. Those of a few
// bytes are no secrets, and would be found everywhere.
func (t Target) secrets() (all []string) {
	add := func(s string) {
		if len(s) >= leastSecret {
			all = append(all, s)
			if quoted, err := json.Marshal(s); err == nil && string(quoted[1:len(quoted)-1]) != s {
				all = append(all, string(quoted[1:len(quoted)-1]))
			}
		}
	}
	for _, value := range t.Headers {
		add(value)
		if _, credentials, two := strings.Cut(value, " "); two {
			add(credentials)
		}
	}
	for _, value := range t.Fields {
		for _, s := range stringsIn(value) {
			add(s)
		}
	}
	add(t.Secret)
	add(strings.TrimPrefix(t.Secret, "whsec_"))
	add(t.URL)
	if u, err := url.Parse(t.URL); err == nil {
		add(u.RequestURI())
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
	}
	return all
}

const leastSecret = 6 // bytes

// stringsIn are the texts and numbers of a JSON value.
func stringsIn(raw json.RawMessage) (all []string) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return all
		}
		switch v := token.(type) {
		case string:
			all = append(all, v)
		case json.Number:
			all = append(all, v.String())
		}
	}
}
