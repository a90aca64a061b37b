package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sight is how much a reader may see.
type Sight int

// The sights.
const (
	Masked   Sight = iota // of who may not reveal
	Revealed              // of who may
)

// covered stands where something is not shown.
const covered = "•••"

const (
	maskDepth   = 4
	maskEntries = 40
	maskName    = 80 // bytes
)

// JSON returns what a reader sees of a JSON text: all of it, digit for digit,
// where nothing keeps anything back; otherwise names and structure, with every
// value covered that is not for them. Lists and objects beyond a few entries are
// told by their number where no rule speaks of what is in them.
func (s Set) JSON(kind string, part Part, raw json.RawMessage, sight Sight) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	root := s.root(kind, part)
	if sight == Revealed && !root.speaksOf(Never) || sight == Masked && root.all(Show) {
		return raw
	}
	w := walk{sight: sight}
	out, err := w.write(raw, root)
	if err != nil {
		return json.RawMessage(`"` + covered + `"`)
	}
	if sight == Revealed && w.kept == 0 {
		return raw
	}
	return out
}

// Text returns what a reader sees of a text, or that it is kept back.
func (s Set) Text(kind string, part Part, text string, sight Sight) (shown string, kept bool) {
	effect := s.root(kind, part).effect
	if text == "" || effect == Show || effect != Never && sight == Revealed {
		return text, false
	}
	return "", true
}

type walk struct {
	sight Sight
	kept  int // values that a rule keeps from everybody
}

func (w *walk) write(raw []byte, root place) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(w.value(v, root, 0)); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (w *walk) value(v any, at place, depth int) any {
	if at.effect == Never {
		w.kept++
		return covered
	}
	open := w.sight == Revealed || at.effect == Show
	switch v := v.(type) {
	case map[string]any:
		return w.object(v, at, depth, open)
	case []any:
		return w.list(v, at, depth, open)
	case nil, bool:
		return v
	}
	if open {
		return v
	}
	return covered
}

func (w *walk) object(v map[string]any, at place, depth int, open bool) any {
	long := !open && (len(v) > maskEntries || depth >= maskDepth)
	if long && !at.expands() {
		return fmt.Sprintf("{ %s %d }", covered, len(v))
	}
	out, left := make(map[string]any, len(v)), 0
	for _, name := range slices.Sorted(maps.Keys(v)) {
		below := at.step(name)
		if long && below.effect != Show && !below.expands() {
			left++
			continue
		}
		shown := name
		if !open {
			shown = cut(name, maskName)
		}
		for _, taken := out[shown]; taken; _, taken = out[shown] {
			shown += "…" // two long names that begin alike
		}
		out[shown] = w.value(v[name], below, depth+1)
	}
	if left > 0 {
		out[covered] = fmt.Sprintf("%d more", left)
	}
	return out
}

func (w *walk) list(v []any, at place, depth int, open bool) any {
	if len(v) > 0 && !open && !at.expands() {
		return fmt.Sprintf("[ %s %d ]", covered, len(v))
	}
	out := make([]any, 0, len(v))
	for i, value := range v {
		if !open && i == maskEntries {
			return append(out, fmt.Sprintf("%s %d more", covered, len(v)-i))
		}
		out = append(out, w.value(value, at.step(strconv.Itoa(i)), depth+1))
	}
	return out
}

// place is a place in a payload: what holds there, and which rules may still
// speak of what is below.
type place struct {
	effect Effect
	live   []cursor
}

// cursor is how far a rule's path has been followed.
type cursor struct {
	rule *Rule
	next int
}

func (s Set) root(kind string, part Part) place {
	var p place
	for i := range s.rules {
		if r := &s.rules[i]; r.about(kind, part) {
			p.reach(cursor{r, 0})
		}
	}
	return p
}

// reach adds a cursor, and where its path ends what the rule does.
func (p *place) reach(c cursor) {
	if slices.Contains(p.live, c) {
		return
	}
	path := c.rule.Path
	if c.next == len(path) {
		p.effect = max(p.effect, c.rule.Effect)
		return
	}
	p.live = append(p.live, c)
	if path[c.next] == anyPath {
		p.reach(cursor{c.rule, c.next + 1})
	}
}

// step goes one name down.
func (p place) step(name string) place {
	below := place{effect: p.effect}
	for _, c := range p.live {
		switch want := c.rule.Path[c.next]; {
		case want == anyPath:
			below.reach(c)
		case c.rule.names(want, name):
			below.reach(cursor{c.rule, c.next + 1})
		}
	}
	return below
}

// expands reports whether something below may be shown.
func (p place) expands() bool {
	return slices.ContainsFunc(p.live, func(c cursor) bool { return c.rule.Effect == Show })
}

// speaksOf reports whether a rule of the effect holds here or may below.
func (p place) speaksOf(e Effect) bool {
	return p.effect == e || slices.ContainsFunc(p.live, func(c cursor) bool { return c.rule.Effect == e })
}

// all reports whether the effect holds here, and nothing stricter may below.
func (p place) all(e Effect) bool {
	return p.effect == e && !slices.ContainsFunc(p.live, func(c cursor) bool { return c.rule.Effect > e })
}

func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.ToValidUTF8(text[:n], "")
}
