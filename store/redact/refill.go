package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Refill puts values that a rule keeps from everybody back into a text that a
// person changed without seeing them: where the text still holds the cover, the
// value of the original stays. The error names the place where that cannot be:
// where the original has none, and in lists, whose places may have been moved.
func (s Set) Refill(kind string, part Part, changed, original json.RawMessage) (json.RawMessage, error) {
	root := s.root(kind, part)
	if !root.speaksOf(Never) || !bytes.Contains(changed, []byte(covered)) {
		return changed, nil
	}
	now, err := decode(changed)
	if err != nil {
		return changed, nil // whoever takes it says what is wrong with it
	}
	was, _ := decode(original)
	f := refill{path: []string{string(part)}}
	if now, err = f.value(now, was, root, false); err != nil || !f.filled {
		return changed, err
	}
	return json.Marshal(now)
}

type refill struct {
	path   []string
	filled bool
}

func decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

func (f *refill) value(now, was any, at place, listed bool) (any, error) {
	if at.effect == Never && now == any(covered) {
		if was == nil || listed {
			return nil, fmt.Errorf("%s is kept back by a rule: give its value, or leave it out", strings.Join(f.path, "."))
		}
		f.filled = true
		return was, nil
	}
	switch now := now.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		for name, v := range now {
			if err := f.step(name, func() (err error) {
				now[name], err = f.value(v, before[name], at.step(name), listed)
				return err
			}); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, v := range now {
			name := fmt.Sprint(i)
			if err := f.step(name, func() (err error) {
				now[i], err = f.value(v, nil, at.step(name), true)
				return err
			}); err != nil {
				return nil, err
			}
		}
	}
	return now, nil
}

func (f *refill) step(name string, do func() error) error {
	f.path = append(f.path, name)
	err := do()
	f.path = f.path[:len(f.path)-1]
	return err
}
