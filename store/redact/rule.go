// Package redact says what is shown of what jobs hold, and to whom. It is the
// one place that decides: pages, streams, the API, downloads and the command
// line show what it leaves.
//
// Without rules of one's own everything is masked but for those who may reveal
// it, and values under the names of [Defaults] are shown to nobody. A rule is
// about the kinds that a pattern names, a part of their jobs and a path:
//
//	invoice:args.customer.country=show    everybody may see it
//	mail:args.template.secret_note=mask   masked below something that is shown
//	billing.*:args.cards.*.number=never   nobody sees it, whatever their rights
//
// Where several rules meet the strictest holds, in whatever order they are
// given: never before mask, mask before show. A rule holds for everything below
// its path.
package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Part is a part of a job.
type Part string

// The parts. Error and Output are texts and have no paths.
const (
	Args   Part = "args"
	Result Part = "result"
	Error  Part = "error"  // an attempt's error: its message and trace; its class is always shown
	Output Part = "output" // what an attempt's program said on standard error
)

// Effect is what a rule does, the least strict first.
type Effect int

// The effects. The zero Effect is what holds without a rule: masked, but shown
// as it is to those who may reveal it.
const (
	Default Effect = iota
	Show           // everybody who sees the job sees it
	Mask           // masked, but for those who may reveal it
	Never          // shown to nobody, and not to be searched for
)

var effects = map[string]Effect{"show": Show, "mask": Mask, "never": Never}

// Bounds of what is accepted.
const (
	MaxRules = 500
	maxRule  = 2000 // bytes of one
	maxPath  = 32   // names of one
)

// Rule says what is shown of one part of the jobs of a kind.
type Rule struct {
	Kind   string // a pattern, in which * stands for any run of characters
	Part   Part
	Path   []string // patterns of names from the outside in; empty for all of the part
	Effect Effect
}

// anyPath is any number of names, none included. Within a name * stands for any
// run of characters, and alone for one name or one place of a list. A name that
// really is spelled so cannot be told from it.
const anyPath = "**"

// Kinds may hold colons: the first part that exists ends one, or else the first
// word that may have been meant for a part.
var (
	cutPart = regexp.MustCompile(`^(?s)(.+?):(args|result|error|output)((?:\.|$).*)$`)
	cutWord = regexp.MustCompile(`^(?s)(.+?):([^.:]*)((?:\.|$).*)$`)
)

// Parse reads a rule as KIND:PART.PATH=EFFECT. The error names the rule, what
// of it cannot be used and at which byte that begins, the first being 1.
func Parse(text string) (Rule, error) {
	r, at, err := parse(text)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q, at %d: %w", cut(strings.ToValidUTF8(text, "\uFFFD"), 200), at+1, err)
	}
	return r, nil
}

func parse(text string) (r Rule, at int, err error) {
	if len(text) > maxRule {
		return r, maxRule, fmt.Errorf("is longer than %d bytes", maxRule)
	}
	if !utf8.ValidString(text) {
		return r, len(strings.ToValidUTF8(text, "")), errors.New("is not UTF-8")
	}
	end := strings.LastIndexByte(text, '=')
	if end < 0 {
		return r, len(text), errors.New("must be KIND:PART.PATH=EFFECT, as *:args.**.password=never")
	}
	found := cutPart.FindStringSubmatchIndex(text[:end])
	if found == nil {
		found = cutWord.FindStringSubmatchIndex(text[:end])
	}
	if found == nil {
		return r, 0, errors.New("must be KIND:PART.PATH=EFFECT, as *:args.**.password=never; the kind * stands for every kind")
	}
	r = Rule{Kind: text[:found[3]], Part: Part(text[found[4]:found[5]]), Effect: effects[text[end+1:]]}
	switch {
	case !r.Part.known():
		return r, found[4], r.Check()
	case r.Effect == Default:
		return r, end + 1, fmt.Errorf("effect: %q must be show, mask or never", text[end+1:])
	}
	if r.Path, at, err = parsePath(text[:end], found[6]); err != nil {
		return r, at, fmt.Errorf("path: %w", err)
	}
	return r, found[6], r.Check()
}

// UnmarshalText is [Parse].
func (r *Rule) UnmarshalText(text []byte) (err error) {
	*r, err = Parse(string(text))
	return err
}

// Check says what of a rule cannot be used, beginning with the field.
func (r Rule) Check() error {
	switch {
	case r.Kind == "":
		return fmt.Errorf("kind: is empty; * stands for every kind")
	case !r.Part.known():
		return fmt.Errorf("part: %q must be args, result, error or output", string(r.Part))
	case len(r.Path) > 0 && (r.Part == Error || r.Part == Output):
		return fmt.Errorf("path: the part %s is a text and has none", r.Part)
	case len(r.Path) > maxPath:
		return fmt.Errorf("path: has more than %d names", maxPath)
	case r.Effect < Show || r.Effect > Never:
		return fmt.Errorf("effect: must be show, mask or never")
	}
	return nil
}

func (p Part) known() bool { return p == Args || p == Result || p == Error || p == Output }

// parsePath reads .name.name from a place on; a name with a dot in it is
// written as JSON's text. It says where it stopped.
func parsePath(text string, at int) (path []string, stopped int, err error) {
	for at < len(text) {
		at++ // the dot
		var name string
		if rest := text[at:]; strings.HasPrefix(rest, `"`) {
			dec := json.NewDecoder(strings.NewReader(rest))
			if err := dec.Decode(&name); err != nil {
				return nil, at, errors.New("a name that begins with a quote must be a text of JSON")
			}
			if end := at + int(dec.InputOffset()); end < len(text) && text[end] != '.' {
				return nil, end, errors.New("a dot belongs behind a name in quotes")
			}
			at += int(dec.InputOffset())
		} else {
			name, _, _ = strings.Cut(rest, ".")
			at += len(name)
		}
		if name == "" {
			return nil, at, errors.New("holds an empty name")
		}
		path = append(path, name)
	}
	return path, at, nil
}

// Set is the rules that hold, each checked. The zero Set has none.
type Set struct{ rules []Rule }

// NewSet makes a set of rules. The error says which cannot be used.
func NewSet(rules []Rule) (Set, error) {
	if len(rules) > MaxRules {
		return Set{}, fmt.Errorf("there are more than %d rules", MaxRules)
	}
	for i, r := range rules {
		if err := r.Check(); err != nil {
			return Set{}, fmt.Errorf("rule %d, about %s of %q: %w", i+1, r.Part, r.Kind, err)
		}
	}
	return Set{rules}, nil
}

// about reports whether the rule is about a part of a kind.
func (r *Rule) about(kind string, part Part) bool { return r.Part == part && like(r.Kind, kind) }

// names reports whether a name of the path is one of a payload. What hides
// compares without case, what shows to the letter: both keep more back when in
// doubt.
func (r *Rule) names(pattern, name string) bool {
	if r.Effect == Show {
		return like(pattern, name)
	}
	return like(strings.ToLower(pattern), strings.ToLower(name))
}

// like reports whether a text is what a pattern says, in which * stands for any
// run of characters.
func like(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		middle, last, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, middle)
		}
		var at int
		if at = strings.Index(text, middle); at < 0 {
			return false
		}
		text, rest = text[at+len(middle):], last
	}
	return false
}
