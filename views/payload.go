package views

import (
	"bytes"
	"encoding/json"
	"net/url"
	"unicode/utf8"

	"github.com/fenceline/fenceline/store"
)

const (
	payloadShown  = 64 << 10 // bytes of a payload that a page shows
	payloadIndent = 64       // nesting up to which a payload is indented
)

// PrettyJSON lays a payload out for reading without touching a digit of it. A
// payload that is nested too deep or too long is shown as it is, up to a
// bound; cut reports that there is more.
func PrettyJSON(raw json.RawMessage) (text string, cut bool) {
	shown := []byte(raw)
	if len(raw) <= payloadShown && depth(raw) <= payloadIndent {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			shown = b.Bytes()
		}
	}
	if len(shown) <= 2*payloadShown {
		return string(shown), false
	}
	n := 2 * payloadShown
	for n > 0 && !utf8.RuneStart(shown[n]) {
		n--
	}
	return string(shown[:n]), true
}

// depth is the deepest nesting of a JSON text.
func depth(raw []byte) int {
	now, most, quoted, escaped := 0, 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

// covers reports whether something on the page looks like the cover of what a
// rule keeps.
func (p RevealPage) covers() bool {
	cover := []byte("•••")
	return bytes.Contains(p.Payload.Args, cover) || bytes.Contains(p.Payload.Result, cover)
}

// tooLong reports whether the page shows only a part of the args, which must not
// become all of them.
func (p RevealPage) tooLong() bool {
	_, cut := PrettyJSON(p.Payload.Args)
	return cut
}

// form begins with the args that the page shows.
func (p RevealPage) form() ActionForm {
	text, _ := PrettyJSON(p.Payload.Args)
	return ActionForm{Action: argsActions(p.Job)[0], Job: p.Job, Typed: url.Values{FieldArgs: {text}}}
}

// restoreForm offers the versions of a job's args that are kept, the newest first.
func restoreForm(v store.JobView) ActionForm {
	return ActionForm{Action: argsActions(v.Job)[0], Job: v.Job, Versions: v.Versions,
		Typed: url.Values{FieldRestore: {decimal(v.Versions[0].Version)}}}
}
