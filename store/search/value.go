package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (p *parser) values(t *Term, info FieldInfo) string {
	if info.Sort == Number || info.Sort == Moment {
		for _, op := range []Op{Least, Most, More, Less} {
			if p.take(string(op)) {
				t.Op = op
				break
			}
		}
	}
	for {
		v, to, complaint := p.value(info)
		if complaint != "" {
			return complaint
		}
		t.Values = append(t.Values, v)
		if to != nil {
			if t.Op != Is || len(t.Values) > 1 {
				return "has a range and something else; write one or the other"
			}
			t.Values, t.Op = append(t.Values, *to), Between
		}
		if len(t.Values) > maxValues {
			return fmt.Sprintf("has more than %d values", maxValues)
		}
		if p.done() {
			break
		}
		if !p.take(",") {
			return "has something right behind its closing quote"
		}
		if t.Op != Is {
			return "has a comparison and a list; write one or the other"
		}
		if info.Sort == Span {
			return "has a list, and takes one length of time"
		}
	}
	return t.sensible(info)
}

// sensible complains of a term that cannot mean anything.
func (t *Term) sensible(info FieldInfo) string {
	distance := func(v Value) bool { return v.At.Relative }
	switch {
	case info.Sort == Moment && t.Op == Is && slices.ContainsFunc(t.Values, distance):
		return fmt.Sprintf("names a moment that nothing happens at; write %s:>%s for later or %s:<%s for earlier", t.Field, t.value(), t.Field, t.value())
	case t.Op == Between && info.Sort == Number && t.Values[0].Number > t.Values[1].Number:
		return "is a range whose end comes before its beginning"
	}
	if a, b := t.Values[0].At, t.Values[len(t.Values)-1].At; t.Op == Between && info.Sort == Moment && a.Relative == b.Relative &&
		(a.Offset > b.Offset || a.From.After(b.From)) {
		return "is a range whose end comes before its beginning"
	}
	return ""
}

// value reads one value, and the end of a range where one follows.
func (p *parser) value(info FieldInfo) (v Value, to *Value, complaint string) {
	quoted := !p.done() && p.text[p.at] == '"'
	empty := quoted && info.Sort == Payload // a value of JSON may be an empty text
	var text string
	if quoted {
		if text, complaint = p.quoted(); complaint != "" {
			return v, nil, complaint
		}
		v.Prefix = p.take("*")
	} else {
		text = p.run(",")
		if info.Sort == Text || info.Sort == Payload {
			text, v.Prefix = strings.CutSuffix(text, "*")
		}
	}
	if v.Prefix && info.Sort != Text && info.Sort != Payload {
		return v, nil, "has a star, and only texts have beginnings"
	}
	if from, end, ranged := strings.Cut(text, ".."); ranged && !quoted && (info.Sort == Number || info.Sort == Moment) {
		to = new(Value)
		if complaint = to.read(end, info); complaint != "" {
			return v, nil, complaint
		}
		text = from
	}
	v.Scalar = info.Sort == Payload && !quoted && !v.Prefix && scalar(text)
	if text == "" && empty {
		return v, nil, ""
	}
	return v, to, v.read(text, info)
}

// read takes a text as a value of the field.
func (v *Value) read(text string, info FieldInfo) (complaint string) {
	if text == "" && !v.Prefix {
		return "has no value; write it as " + info.Example
	}
	switch info.Sort {
	case Number:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return "needs a whole number"
		}
		v.Number = n
	case Moment:
		v.At, complaint = parseInstant(text)
	case Span:
		v.Span, complaint = parseSpan(text)
	case Choice:
		v.Text = strings.ToLower(text)
		for _, word := range info.Words {
			if v.Text == word {
				return ""
			}
		}
		return fmt.Sprintf("is none of its values, which are %s", strings.Join(info.Words, ", "))
	default:
		v.Text = text
		return checkText(text)
	}
	return complaint
}

func checkText(text string) string {
	if len(text) > maxText {
		return fmt.Sprintf("has a text of %d bytes; the limit is %d", len(text), maxText)
	}
	return ""
}

// scalar reports whether a text is a number of JSON, true, false or null.
func scalar(text string) bool {
	if text == "true" || text == "false" || text == "null" {
		return true
	}
	return number(text)
}
