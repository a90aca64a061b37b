package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

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
		n, ok := parseID(unquoted(raw))
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

func unquoted(raw json.RawMessage) string {
	if n := len(raw); n > 2 && raw[0] == '"' && raw[n-1] == '"' {
		return string(raw[1 : n-1])
	}
	return string(raw)
}

func truth(into *bool) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		switch string(raw) {
		case "true":
			*into = true
		case "false":
		default:
			return &store.InvalidError{Field: name, Message: "must be true or false"}
		}
		return nil
	}
}

// word reads a text that is not empty: what stays as it is, is left out.
func word(into *string) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		if err := text(into)(name, raw); err != nil {
			return err
		}
		if *into == "" {
			return &store.InvalidError{Field: name, Message: "is empty; leave it out to change nothing of it"}
		}
		return nil
	}
}

// repeatID reads what tells a repeat from another request.
func repeatID(into *uuid.UUID) func(string, json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var s string
		if err := text(&s)(name, raw); err != nil {
			return err
		}
		id, err := uuid.Parse(s)
		if err != nil || id == uuid.Nil {
			return &store.InvalidError{Field: name, Message: "must be a UUID, as in 3f0c9a52-6a27-4c57-9a8f-0d1f6f9a1b2c"}
		}
		*into = id
		return nil
	}
}
