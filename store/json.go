package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CheckJSON reports, as an *[InvalidError] that names the place inside field,
// why PostgreSQL could not keep raw as jsonb digit for digit: text that is not
// JSON or not UTF-8, more than limit bytes as sent or as PostgreSQL writes it
// back (a space after each comma and colon, no exponents), nesting beyond
// [MaxDepth], NUL or a lone surrogate in a string, a number outside numeric's
// range. It is asked before a batch, so that one bad member never sinks the
// others.
func CheckJSON(field string, raw []byte, limit int) error {
	if len(raw) > limit {
		return &InvalidError{field, fmt.Sprintf("is %d bytes long; the limit is %d", len(raw), limit)}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return &InvalidError{field, "is empty; write null for nothing"}
	}
	if !utf8.Valid(raw) {
		return &InvalidError{field, "is not UTF-8"}
	}
	if err := checkDepth(field, raw); err != nil {
		return err
	}
	if !json.Valid(raw) {
		return &InvalidError{field, "is not JSON" + where(raw)}
	}
	simple := plain(raw)
	if !simple {
		if err := checkValues(field, raw); err != nil {
			return err
		}
	}
	if simple && len(raw) <= limit/2 {
		return nil
	}
	if n := written(raw); n > limit {
		return &InvalidError{field, fmt.Sprintf("takes %d bytes as PostgreSQL writes it; the limit is %d", n, limit)}
	}
	return nil
}

// written is how many bytes PostgreSQL's text of the jsonb takes at most. A
// text without exponents at most doubles; "1e1000" becomes a thousand digits.
func written(raw []byte) int {
	n := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			end := i + 1
			for raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			n += end - i + 1
			i = end
		case c == ',' || c == ':':
			n += 2
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && strings.IndexByte("0123456789+-.eE", raw[end]) >= 0 {
				end++
			}
			n += writtenOut(string(raw[i:end]))
			i = end - 1
		default:
			n++
		}
	}
	return n
}

// writtenOut is how many bytes a number takes without its exponent.
func writtenOut(number string) int {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(number), "e")
	if !scientific {
		return len(number)
	}
	e, _ := strconv.Atoi(exponent)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return max(len(whole), len(whole)+e) + 2 + max(0, len(fraction)-e)
}

// plain reports that the text holds no escape that could name a character
// which jsonb refuses, and no number with an exponent or beyond 1000 digits:
// nearly every payload, told without decoding it.
func plain(raw []byte) bool {
	if bytes.Contains(raw, []byte(`\u`)) {
		return false
	}
	digits := 0
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			if digits++; digits > 1000 {
				return false
			}
		case (c == 'e' || c == 'E') && i > 0 && raw[i-1] >= '0' && raw[i-1] <= '9':
			return false
		default:
			digits = 0
		}
	}
	return true
}

func where(raw []byte) string {
	var v any
	var syntax *json.SyntaxError
	if err := json.Unmarshal(raw, &v); errors.As(err, &syntax) {
		return fmt.Sprintf(" (at byte %d: %s)", syntax.Offset, syntax.Error())
	}
	return ""
}

// checkDepth counts brackets outside strings: a decoder would recurse first.
func checkDepth(field string, raw []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return &InvalidError{field, fmt.Sprintf("is nested deeper than %d", MaxDepth)}
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// checkValues walks the tokens and keeps the path to the one at hand.
func checkValues(field string, raw []byte) error {
	w := &walker{dec: json.NewDecoder(bytes.NewReader(raw)), raw: raw, path: []string{field}}
	w.dec.UseNumber()
	err := w.value()
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type walker struct {
	dec  *json.Decoder
	raw  []byte
	path []string
}

func (w *walker) refuse(message string) error {
	return &InvalidError{strings.Join(w.path, ""), message}
}

func (w *walker) value() error {
	start := w.dec.InputOffset()
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case string:
		return w.text(start)
	case json.Number:
		return w.number(t.String())
	case json.Delim:
		if t == '{' {
			return w.object()
		}
		return w.array()
	}
	return nil
}

func (w *walker) object() error {
	for w.dec.More() {
		start := w.dec.InputOffset()
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		w.path = append(w.path, "."+cut(storable(name), 64))
		if err := w.text(start); err != nil {
			return err
		}
		if err := w.value(); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.dec.Token()
	return err
}

func (w *walker) array() error {
	for i := 0; w.dec.More(); i++ {
		w.path = append(w.path, "["+strconv.Itoa(i)+"]")
		if err := w.value(); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.dec.Token()
	return err
}

// text looks at the string as it was written: a decoder has already replaced
// what jsonb would refuse.
func (w *walker) text(start int64) error {
	raw := w.raw[start:w.dec.InputOffset()]
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' || i+6 > len(raw) {
			i++
			continue
		}
		code, _ := strconv.ParseUint(string(raw[i+2:i+6]), 16, 32)
		switch {
		case code == 0:
			return w.refuse(`holds \u0000, which PostgreSQL cannot store`)
		case code >= 0xDC00 && code <= 0xDFFF:
			return w.refuse("holds half of a surrogate pair, which PostgreSQL cannot store")
		case code >= 0xD800 && code <= 0xDBFF:
			if !lowSurrogate(raw[i+6:]) {
				return w.refuse("holds half of a surrogate pair, which PostgreSQL cannot store")
			}
			i += 6
		}
		i += 5
	}
	return nil
}

func lowSurrogate(raw []byte) bool {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return false
	}
	code, err := strconv.ParseUint(string(raw[2:6]), 16, 32)
	return err == nil && code >= 0xDC00 && code <= 0xDFFF
}

// number keeps within what both numeric and a reader of ours can hold: at most
// 1000 digits written out.
func (w *walker) number(s string) error {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	e := new(big.Int)
	if exponent != "" {
		e.SetString(strings.TrimPrefix(exponent, "+"), 10)
	}
	if len(mantissa) > 1000 || !e.IsInt64() || e.Int64() > 1000 || e.Int64() < -1000 {
		return w.refuse("is a number of more than 1000 digits")
	}
	return nil
}
