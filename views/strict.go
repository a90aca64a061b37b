package views

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fenceline/fenceline/store"
)

// strictly reads a file of JSON into what into points to and takes nothing else
// than what that says: every field, once, of its type, and no other one; lists no
// longer than their tag most tells; no number below 0. Everything that is wrong is
// an [*store.InvalidError] that names the field with its place, as in
// timeline[3].at; what is not JSON at all names file.
func strictly(raw []byte, into any) error {
	if !utf8.Valid(raw) {
		return &store.InvalidError{Field: "file", Message: "is not UTF-8"}
	}
	r := strictReader{json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))))}
	r.UseNumber()
	if err := r.value("", reflect.ValueOf(into).Elem(), 0); err != nil {
		return err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return &store.InvalidError{Field: "file", Message: "goes on after its JSON object"}
	}
	return nil
}

type strictReader struct{ *json.Decoder }

var instantType = reflect.TypeFor[time.Time]()

// value reads the next value into v. Most is how long a list may be.
func (r strictReader) value(at string, v reflect.Value, most int) error {
	token, err := r.Token()
	if err != nil {
		return notAFile(err)
	}
	if v.Kind() == reflect.Pointer {
		if token == nil {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case v.Type() == instantType:
		return readInstant(at, v, token)
	case v.Kind() == reflect.Struct && token == json.Delim('{'):
		return r.object(at, v)
	case v.Kind() == reflect.Slice && token == json.Delim('['):
		return r.list(at, v, most)
	case v.Kind() == reflect.String:
		if text, ok := token.(string); ok {
			v.SetString(text)
			return nil
		}
	case v.Kind() == reflect.Bool:
		if b, ok := token.(bool); ok {
			v.SetBool(b)
			return nil
		}
	case v.CanInt():
		if n, ok := token.(json.Number); ok {
			return readWhole(at, v, n)
		}
	}
	return &store.InvalidError{Field: placeName(at), Message: "must be " + wantedText(v)}
}

func placeName(at string) string {
	if at == "" {
		return "file"
	}
	return at
}

func wantedText(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Struct:
		return "an object"
	case v.Kind() == reflect.Slice:
		return "a list"
	case v.Kind() == reflect.String:
		return "a string"
	case v.Kind() == reflect.Bool:
		return "true or false"
	}
	return "a whole number"
}

func (r strictReader) object(at string, v reflect.Value) error {
	places := map[string]int{}
	for i := range v.NumField() {
		places[v.Type().Field(i).Tag.Get("json")] = i
	}
	seen := map[string]bool{}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return notAFile(err)
		}
		name, _ := token.(string)
		below := strings.TrimPrefix(at+"."+name, ".")
		i, known := places[name]
		switch {
		case !known:
			return &store.InvalidError{Field: placeName(at), Message: fmt.Sprintf("holds %s, which is no field of a report", strconv.QuoteToASCII(MiddleCut(name, 40)))}
		case seen[name]:
			return &store.InvalidError{Field: below, Message: "is given more than once"}
		}
		seen[name] = true
		most, _ := strconv.Atoi(v.Type().Field(i).Tag.Get("most"))
		if err := r.value(below, v.Field(i), most); err != nil {
			return err
		}
	}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("json"); !seen[name] {
			return &store.InvalidError{Field: strings.TrimPrefix(at+"."+name, "."), Message: "is required"}
		}
	}
	return r.closed()
}

func (r strictReader) list(at string, v reflect.Value, most int) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for r.More() {
		if v.Len() == most {
			return &store.InvalidError{Field: at, Message: fmt.Sprintf("holds more than %d", most)}
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if err := r.value(fmt.Sprintf("%s[%d]", at, v.Len()-1), v.Index(v.Len()-1), 0); err != nil {
			return err
		}
	}
	return r.closed()
}

// closed takes the sign that ends an object or a list.
func (r strictReader) closed() error {
	if _, err := r.Token(); err != nil {
		return notAFile(err)
	}
	return nil
}

func readInstant(at string, v reflect.Value, token json.Token) error {
	text, _ := token.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.UTC().Year() < 1970 || t.UTC().Year() > 9998 {
		return &store.InvalidError{Field: at, Message: "must be a time as in 2026-11-03T09:12:00Z"}
	}
	v.Set(reflect.ValueOf(t.UTC()))
	return nil
}

// mostWhole is above every number that a report tells.
const mostWhole = 1e15

func readWhole(at string, v reflect.Value, n json.Number) error {
	whole, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || whole < 0 || whole > mostWhole {
		return &store.InvalidError{Field: at, Message: "must be a whole number from 0 to 1000000000000000"}
	}
	v.SetInt(whole)
	return nil
}

func notAFile(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return &store.InvalidError{Field: "file", Message: fmt.Sprintf("is not JSON (at byte %d: %s)", syntax.Offset, syntax.Error())}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &store.InvalidError{Field: "file", Message: "ends before its JSON object does"}
	}
	return &store.InvalidError{Field: "file", Message: "is not JSON"}
}
