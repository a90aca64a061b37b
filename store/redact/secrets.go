package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Errors often repeat what a job was given. What a rule keeps from everybody is
// taken out of them too: by its value, wherever that stands.

const (
	leastSecret = 4    // bytes; shorter values stand in texts by chance
	leastPart   = 8    // bytes of a value that was cut off at an end of a text, or of one of its lines
	mostSecrets = 2000 // values that are looked for
)

// Secrets are the values of a job that nobody may see. The zero Secrets are none.
type Secrets struct {
	values []string // the longest first
	more   bool     // there are more of them than are looked for
}

// Secrets gathers what nobody may see of what a job was given and made.
func (s Set) Secrets(kind string, args, result json.RawMessage) Secrets {
	var g gathering
	g.from(s.root(kind, Args), args)
	g.from(s.root(kind, Result), result)
	slices.SortFunc(g.values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	g.values = slices.Compact(g.values)
	return g.Secrets
}

// KeepsValues reports whether rules keep any value from everybody.
func (s Set) KeepsValues() bool {
	return slices.ContainsFunc(s.rules, func(r Rule) bool { return r.Effect == Never && (r.Part == Args || r.Part == Result) })
}

type gathering struct {
	Secrets
	seen int
}

func (g *gathering) from(root place, raw json.RawMessage) {
	if len(raw) == 0 || !root.speaksOf(Never) {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		g.more = true
		return
	}
	g.gather(v, root)
}

func (g *gathering) gather(v any, at place) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			g.gather(value, at.step(name))
		}
	case []any:
		for i, value := range v {
			g.gather(value, at.step(strconv.Itoa(i)))
		}
	case string:
		g.add(v, at)
	case json.Number:
		g.add(v.String(), at)
	}
}

func (g *gathering) add(text string, at place) {
	if at.effect != Never || len(text) < leastSecret {
		return
	}
	if g.seen++; g.seen > mostSecrets {
		g.more = true
		return
	}
	g.values = append(g.values, text)
	for _, spelled := range spellings(text) {
		if spelled != text {
			g.values = append(g.values, spelled)
		}
	}
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= leastPart {
				g.values = append(g.values, line)
			}
		}
	}
}

// spellings are how a value stands in a quoted text, in JSON and in an address.
func spellings(text string) []string {
	all := []string{url.QueryEscape(text), url.PathEscape(text)}
	quoted := []string{strconv.Quote(text)}
	for _, html := range []bool{false, true} {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(text) == nil {
			quoted = append(quoted, strings.TrimSuffix(b.String(), "\n"))
		}
	}
	for _, q := range quoted {
		all = append(all, q[1:len(q)-1])
	}
	return all
}

// Without is a text without the secrets. Of a job with more secrets than are
// looked for no text is shown.
func (s Secrets) Without(text string) string {
	if s.more && text != "" {
		return covered
	}
	for _, secret := range s.values {
		text = strings.ReplaceAll(text, secret, covered)
	}
	for _, secret := range s.values {
		text = withoutEnds(text, secret)
	}
	return text
}

// withoutEnds takes away what is left of a secret where a text was cut off.
func withoutEnds(text, secret string) string {
	body := strings.TrimSuffix(text, "…")
	for n := min(len(secret), len(body)); n >= leastPart; n-- {
		if strings.HasSuffix(body, secret[:n]) {
			text = body[:len(body)-n] + covered
			break
		}
	}
	for n := min(len(secret), len(text)); n >= leastPart; n-- {
		if strings.HasPrefix(text, secret[len(secret)-n:]) {
			return covered + text[n:]
		}
	}
	return text
}

// Hides reports whether a search at a path of a part could tell something that
// nobody may see. An empty kinds stands for all of them.
func (s Set) Hides(kinds []string, part Part, path []string) bool {
	return slices.ContainsFunc(s.rules, func(r Rule) bool {
		if r.Effect != Never || r.Part != part {
			return false
		}
		if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind string) bool { return like(r.Kind, kind) }) {
			return false
		}
		at := place{}
		at.reach(cursor{&r, 0})
		for _, name := range path {
			// The database finds a place of a list under more spellings than one.
			if n, err := strconv.Atoi(strings.TrimSpace(name)); err == nil {
				if n < 0 && slices.ContainsFunc(r.Path, func(p string) bool { return strings.ContainsAny(p, "0123456789") }) {
					return true // counted from the end, which may be any of them
				}
				name = strconv.Itoa(n)
			}
			at = at.step(name)
		}
		return at.effect == Never
	})
}
