package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/worker/internal/outcome"
)

// Args are what a job of the kind is given.
type Args struct {
	Target string          `json:"target"`           // the name of an allowed one
	Method string          `json:"method,omitempty"` // GET, POST, PUT, PATCH or DELETE; empty means POST
	Path   string          `json:"path,omitempty"`   // appended to the target's; see [CheckPath]
	Body   json.RawMessage `json:"body,omitempty"`   // digit for digit; nothing means no body
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

const maxPath = 2048 // bytes

// UnmarshalJSON refuses fields that it does not know, and what no retry could
// deliver.
func (a *Args) UnmarshalJSON(raw []byte) error {
	type plain Args
	if err := outcome.Strict(raw, (*plain)(a)); err != nil {
		return err
	}
	if a.Method == "" {
		a.Method = http.MethodPost
	}
	switch {
	case a.Target == "":
		return errors.New("target: is required")
	case !slices.Contains(methods, a.Method):
		return fmt.Errorf("method: must be one of %s", strings.Join(methods, ", "))
	case a.Method == http.MethodGet && len(a.Body) > 0 && string(a.Body) != "null":
		return errors.New("body: none is sent with GET")
	}
	if err := CheckPath(a.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}

// CheckPath says why a path cannot be appended to a target's. It must be one
// that every server and proxy on the way reads as the same place below the
// target: segments of the characters that RFC 3986 allows, none of them empty,
// "." or "..", no colon in the first; percent-encoded is whatever else is
// needed, but no slash, backslash, dot, percent sign or control character.
func CheckPath(path string) error {
	if path == "" {
		return nil
	}
	if len(path) > maxPath {
		return fmt.Errorf("is %d bytes long; the limit is %d", len(path), maxPath)
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		name, _, _ := strings.Cut(segment, ";")
		switch {
		case i == 0 && segment == "":
			return errors.New("must not begin with a slash: it is appended to the target's")
		case segment == "" && i < len(segments)-1:
			return errors.New("must not hold two slashes in a row")
		case name == "." || name == "..":
			return errors.New(`must not hold "." or ".." as a segment`)
		case i == 0 && strings.Contains(segment, ":"):
			return errors.New("must not hold a colon in its first segment, which could be a scheme")
		}
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(segment string) error {
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c != '%' {
			if !isAlphanumeric(c) && !strings.ContainsRune("-._~!$&'()*+,;=:@", rune(c)) {
				return errors.New("may hold letters, digits, -._~!$&'()*+,;=:@ and slashes; anything else must be percent-encoded")
			}
			continue
		}
		if i+2 >= len(segment) || !isHex(segment[i+1]) || !isHex(segment[i+2]) {
			return errors.New("holds a percent sign that two hexadecimal digits do not follow")
		}
		d := unhex(segment[i+1])<<4 | unhex(segment[i+2])
		if d < 0x20 || d == 0x7f || strings.ContainsRune(`/\.%`, rune(d)) {
			return errors.New("must not hold a percent-encoded slash, backslash, dot, percent sign or control character")
		}
		i += 2
	}
	return nil
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
