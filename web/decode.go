package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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
		return &problem{Status: http.StatusBadRequest, Code: "invalid_body", Message: "The body could not be read to its end.", cause: err}
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
		return &problem{Status: http.StatusBadRequest, Code: "invalid_json", Message: "The body goes on after its JSON object."}
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
	return &problem{Status: http.StatusBadRequest, Code: "invalid_json", Message: "The body is not JSON" + where + "."}
}
