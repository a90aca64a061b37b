package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
)

// fields is an object that the API accepts: for each of its names, exactly as
// spelled, what reads the value. A null reads as if the name were absent.
type fields map[string]func(name string, raw json.RawMessage) error

// readJSON reads a request's body as one object. It refuses, naming the field:
// an unknown one, one that stands twice, one of the wrong type; and anything
// after the object.
func readJSON(c echo.Context, f fields) error {
	r := c.Request()
	if err := expectType(r, "application/json"); err != nil {
		return err
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxJSON))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return err
		}
		return &problem{Status: 400, Code: "invalid_body", Message: "The body could not be read to its end.", cause: err}
	}
	return f.decode("", raw)
}

// decode reads raw into the fields; outer is the name of the object, with a
// dot, or empty for the whole body.
func (f fields) decode(outer string, raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return notJSON(err)
	}
	if open != json.Delim('{') {
		return &store.InvalidError{Field: bodyName(outer), Message: "must be a JSON object"}
	}
	seen := make(map[string]bool, len(f))
	for dec.More() {
		if err := f.member(dec, outer, seen); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return notJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &problem{Status: 400, Code: "invalid_json", Message: "The body goes on after its JSON object."}
	}
	return nil
}

func (f fields) member(dec *json.Decoder, outer string, seen map[string]bool) error {
	token, err := dec.Token()
	if err != nil {
		return notJSON(err)
	}
	name, _ := token.(string)
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return notJSON(err)
	}
	read, known := f[name]
	switch {
	case !known:
		return &store.InvalidError{Field: outer + printable(name), Message: "is not a field that this request can have"}
	case seen[name]:
		return &store.InvalidError{Field: outer + name, Message: "is given more than once"}
	case !utf8.Valid(value):
		return &store.InvalidError{Field: outer + name, Message: "is not UTF-8"}
	}
	seen[name] = true
	if string(value) == "null" {
		return nil
	}
	return read(outer+name, value)
}

func bodyName(outer string) string {
	if outer == "" {
		return "body"
	}
	return strings.TrimSuffix(outer, ".")
}

func notJSON(err error) error {
	where := ""
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		where = fmt.Sprintf(" (at byte %d: %s)", syntax.Offset, syntax.Error())
	}
	return &problem{Status: 400, Code: "invalid_json", Message: "The body is not JSON" + where + "."}
}

// What reads one value. Each wants exactly its type.

func text(into *string) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		if raw[0] != '"' {
			return &store.InvalidError{Field: name, Message: "must be a string"}
		}
		// A decoder would replace half a surrogate pair in silence.
		if err := store.CheckJSON(name, raw, maxJSON); err != nil {
			return err
		}
		return json.Unmarshal(raw, into)
	}
}

func anything(into *json.RawMessage) func(string, json.RawMessage) error {
	return func(_ string, raw json.RawMessage) error {
		*into = raw
		return nil
	}
}

func integer[T int | int16](into *T, least, most int64) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if errors.Is(err, strconv.ErrSyntax) {
			return &store.InvalidError{Field: name, Message: "must be a whole number"}
		}
		if err != nil || n < least || n > most {
			return &store.InvalidError{Field: name, Message: fmt.Sprintf("must be between %d and %d", least, most)}
		}
		*into = T(n)
		return nil
	}
}

// exact reads a 64-bit id or revision, as a number or as a string of digits.
func exact(into *int64) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		n, ok := parseID(strings.Trim(string(raw), `"`))
		if !ok {
			return &store.InvalidError{Field: name, Message: "must be a whole number above 0, or a string of its digits"}
		}
		*into = n
		return nil
	}
}

// instant reads when a job is due.
func instant(into *time.Time) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var s string
		if err := text(&s)(name, raw); err != nil {
			return err
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return &store.InvalidError{Field: name, Message: "must be a time as in 2026-11-03T09:12:00Z"}
		}
		if err := store.CheckRunAt(t); err != nil {
			return err
		}
		*into = t
		return nil
	}
}

func texts(into *[]string) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var all []json.RawMessage
		if raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
			return &store.InvalidError{Field: name, Message: "must be a list of strings"}
		}
		*into = make([]string, len(all))
		for i, one := range all {
			if err := text(&(*into)[i])(fmt.Sprintf("%s[%d]", name, i), one); err != nil {
				return err
			}
		}
		return nil
	}
}

func object(f fields) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		return f.decode(name+".", raw)
	}
}
