package search

import (
	"strconv"
	"strings"
	"unicode"
)

// String writes the query in its one form: parsed again it is the same query.
func (q Query) String() string {
	terms := make([]string, len(q.Terms))
	for i, t := range q.Terms {
		terms[i] = t.String()
	}
	return strings.Join(terms, " ")
}

// String writes the term as it is read.
func (t Term) String() string {
	var b strings.Builder
	if t.Not {
		b.WriteByte('-')
	}
	b.WriteString(string(t.Field))
	for _, name := range t.Path {
		b.WriteByte('.')
		b.WriteString(quoteIf(name, strings.ContainsAny(name, `.:"`)))
	}
	b.WriteByte(':')
	b.WriteString(t.value())
	return b.String()
}

func (t Term) value() string {
	info, _ := Info(t.Field)
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		values[i] = v.write(info.Sort)
	}
	if t.Op == Between {
		return strings.Join(values, "..")
	}
	return string(t.Op) + strings.Join(values, ",")
}

func (v Value) write(sort Sort) string {
	switch sort {
	case Number:
		return strconv.FormatInt(v.Number, 10)
	case Moment:
		return v.At.String()
	case Span:
		return spanText(v.Span)
	}
	text := Quote(v.Text)
	if sort == Payload && !v.Scalar && !v.Prefix && text[0] != '"' && scalar(v.Text) {
		text = quoteIf(v.Text, true)
	}
	switch {
	case v.Prefix && v.Text == "":
		return "*"
	case v.Prefix:
		return text + "*"
	}
	return text
}

// Quote writes a text so that the language reads it as exactly that.
func Quote(s string) string { return quoteIf(s, strings.HasSuffix(s, "*")) }

func quoteIf(s string, anyway bool) string {
	special := func(r rune) bool {
		return r == ',' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}
	if !anyway && s != "" && s[0] != '"' && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}
