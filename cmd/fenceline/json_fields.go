package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// known are the fields of an object and how each is read, given where it stands
// in the file. A reader's error begins with that place.
type known map[string]func(at string, raw json.RawMessage) error

// readObject reads an object and refuses fields that it does not know, or finds
// twice.
func readObject(at string, raw []byte, fields known) error {
	return eachField(at, raw, func(name, at string, value json.RawMessage) error {
		read, ok := fields[name]
		if !ok {
			return fmt.Errorf("%s: is not a field that is known here", at)
		}
		return read(at, value)
	})
}

// eachField reads the fields of an object in their order.
func eachField(at string, raw []byte, read func(name, at string, value json.RawMessage) error) error {
	if !json.Valid(raw) {
		var syntax *json.SyntaxError
		if errors.As(json.Unmarshal(raw, new(any)), &syntax) {
			line := 1 + bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n"))
			return fmt.Errorf("line %d: is not JSON: %w", line, syntax)
		}
		return errors.New("is not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		if at == "" {
			return errors.New("must be an object")
		}
		return errors.New(at + ": must be an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		below := name
		if at != "" {
			below = at + "." + name
		}
		if seen[name] {
			return fmt.Errorf("%s: is given twice", below)
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := read(name, below, value); err != nil {
			return err
		}
	}
	return nil
}

// into reads a field's value as it is. The error says what it must be, and not
// what it is.
func into[T any](value *T, what string) func(at string, raw json.RawMessage) error {
	return func(at string, raw json.RawMessage) error {
		if string(raw) == "null" || json.Unmarshal(raw, value) != nil {
			return fmt.Errorf("%s: must be %s", at, what)
		}
		return nil
	}
}
