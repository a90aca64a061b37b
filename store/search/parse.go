package search

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a search.
const (
	MaxBytes  = 4096 // of the whole text
	maxTerms  = 50
	maxValues = 200 // of one term
	maxText   = 1024
	maxPath   = 32
)

// SyntaxError says which term of a search cannot be understood, and why.
type SyntaxError struct {
	At      int    // where the term begins, counted in characters from 1
	Term    string // as it was typed
	Field   Field  // empty where there is none of that name
	Message string // goes behind the term
}

// Error names the term, its place and what would be read instead.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (at character %d) %s", e.Term, e.At, e.Message)
}

// Parse reads a search. The error is a *[SyntaxError].
func Parse(text string) (Query, error) {
	switch {
	case len(text) > MaxBytes:
		return Query{}, &SyntaxError{At: 1, Term: "the search", Message: fmt.Sprintf("is %d bytes long; the limit is %d", len(text), MaxBytes)}
	case !utf8.ValidString(text):
		return Query{}, &SyntaxError{At: 1, Term: "the search", Message: "is not UTF-8"}
	case strings.ContainsRune(text, 0):
		return Query{}, &SyntaxError{At: 1, Term: "the search", Message: "holds a NUL character, which no job can have"}
	}
	var q Query
	p := &parser{text: text}
	for {
		p.space()
		if p.at == len(text) {
			return q, nil
		}
		p.begin = p.at
		t, complaint := p.term()
		if complaint != "" {
			return Query{}, p.refuse(t.Field, complaint)
		}
		if len(q.Terms) == maxTerms {
			return Query{}, p.refuse(t.Field, fmt.Sprintf("is one term too many; the limit is %d", maxTerms))
		}
		if complaint := q.twice(t); complaint != "" {
			return Query{}, p.refuse(t.Field, complaint)
		}
		q.Terms = append(q.Terms, t)
	}
}

// twice complains of a term that leaves nothing over beside an earlier one.
func (q Query) twice(t Term) string {
	if t.Not || t.Op != Is {
		return ""
	}
	switch t.Field {
	case State, Kind, Queue, Key, Worker, ID, Refused:
	default:
		return ""
	}
	if earlier, ok := q.Find(t.Field); ok && earlier.Op == Is {
		return fmt.Sprintf("names a second %s, and no job has two; for either write %s:%s,%s", t.Field, t.Field, earlier.value(), t.value())
	}
	return ""
}

type parser struct {
	text  string
	at    int // the next byte
	begin int // of the term at hand
}

func (p *parser) refuse(field Field, complaint string) *SyntaxError {
	end := p.begin
	for end < len(p.text) && (end < p.at || !isSpaceAt(p.text, end)) {
		end++
	}
	term := p.text[p.begin:end]
	if r := []rune(term); len(r) > 80 {
		term = string(r[:80]) + "…"
	}
	return &SyntaxError{At: utf8.RuneCountInString(p.text[:p.begin]) + 1, Term: strings.TrimSpace(term), Field: field, Message: complaint}
}

func isSpaceAt(s string, at int) bool {
	r, _ := utf8.DecodeRuneInString(s[at:])
	return unicode.IsSpace(r)
}

func (p *parser) space() {
	for p.at < len(p.text) && isSpaceAt(p.text, p.at) {
		_, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
	}
}

func (p *parser) done() bool { return p.at == len(p.text) || isSpaceAt(p.text, p.at) }

func (p *parser) take(prefix string) bool {
	if !strings.HasPrefix(p.text[p.at:], prefix) {
		return false
	}
	p.at += len(prefix)
	return true
}

// run takes what comes before the first of the characters that end it, or a
// space.
func (p *parser) run(ends string) string {
	from := p.at
	for !p.done() && !strings.ContainsRune(ends, rune(p.text[p.at])) {
		_, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
	}
	return p.text[from:p.at]
}

// quoted takes a text in quotes; the first stands at hand.
func (p *parser) quoted() (string, string) {
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			return b.String(), ""
		case c != '\\':
			b.WriteByte(c)
		case p.at == len(p.text):
			return "", "has no closing quote"
		default:
			plain := strings.IndexByte(`nrt"\`, p.text[p.at])
			if plain < 0 {
				return "", `has a backslash before something else than \" \\ \n \r \t`
			}
			b.WriteByte("\n\r\t\"\\"[plain])
			p.at++
		}
	}
	return "", "has no closing quote"
}

// term reads one term.
func (p *parser) term() (Term, string) {
	if p.text[p.at] == '"' {
		text, complaint := p.quoted()
		switch {
		case complaint != "":
		case !p.done():
			complaint = "has something right behind its closing quote"
		case text == "":
			complaint = "is an empty key, which no job has"
		}
		return bare(text), orElse(complaint, checkText(text))
	}
	var t Term
	t.Not = p.take("-")
	name := p.run(`.:`)
	if !p.done() && p.text[p.at] == '.' && strings.EqualFold(name, string(Args)) {
		t.Field = Args
		if complaint := p.path(&t); complaint != "" {
			return t, complaint
		}
	} else if !p.done() && p.text[p.at] == '.' {
		name += p.run(":")
	}
	if p.done() {
		if t.Field == Args {
			return t, "names a place in the args and no value; write it as args.customer_id:12"
		}
		word := bare(p.text[p.begin:p.at])
		return word, checkText(word.Values[0].Text)
	}
	p.at++
	return p.named(t, name)
}

// named reads the value of a term whose field is known by name.
func (p *parser) named(t Term, name string) (Term, string) {
	info, ok := Info(Field(strings.ToLower(name)))
	if t.Field == Args {
		info, ok = Info(Args)
	}
	if !ok {
		p.run("")
		return t, fmt.Sprintf("names no field: there is no %s. The fields are %s. For a key with a colon write key:%s",
			clip(name), names(), Quote(p.text[p.begin:p.at]))
	}
	t.Field = info.Name
	if info.Name == Args && len(t.Path) == 0 {
		return t, "needs the name of a value in the args; write it as args.customer_id:12"
	}
	return t, p.values(&t, info)
}

// bare is a word without a field.
func bare(word string) Term {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == word {
		return Term{Field: ID, Values: []Value{{Number: n}}}
	}
	return Term{Field: Key, Values: []Value{{Text: word}}}
}

// path reads the names between args and the colon.
func (p *parser) path(t *Term) string {
	for p.take(".") {
		var name string
		if !p.done() && p.text[p.at] == '"' {
			var complaint string
			if name, complaint = p.quoted(); complaint != "" {
				return complaint
			}
		} else if name = p.run(`.:"`); name == "" {
			return "has an empty name in its path; a name that is empty or holds dots is written in quotes"
		}
		if t.Path = append(t.Path, name); len(t.Path) > maxPath {
			return fmt.Sprintf("leads deeper than %d names", maxPath)
		}
	}
	if !p.done() && p.text[p.at] != ':' {
		return `has something right behind a name in quotes; write args."a.b".c:12`
	}
	return ""
}

func names() string {
	all := make([]string, len(Fields))
	for i, f := range Fields {
		all[i] = string(f.Name)
	}
	return strings.Join(all, ", ")
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
