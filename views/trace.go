package views

import (
	"strings"

	"github.com/a-h/templ"
)

// trace is where a trace is shown: an address from the configuration, and an id
// of hexadecimal digits.
func (u URLs) trace(id string) templ.SafeURL {
	return templ.URL(strings.ReplaceAll(u.Trace, "{trace}", id))
}
