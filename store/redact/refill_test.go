package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatWasCoveredStaysWhatItWas(t *testing.T) {
	t.Parallel()
	s := set(t, "pay:args.card.number=never", "pay:args.items.*.code=never", "pay:args.name=mask")
	was := json.RawMessage(`{"card": {"number": 4111111111111111111111, "until": "12/27"}, "items": [{"code": "a1"}, {"code": "b2"}], "name": "Ada"}`)
	for changed, want := range map[string]string{
		`{"card": {"number": "•••", "until": "1/30"}}`:           `{"card":{"number":4111111111111111111111,"until":"1/30"}}`,
		`{"card": {"number": "4222"}, "n": 1970670598291982290}`: `{"card": {"number": "4222"}, "n": 1970670598291982290}`,
		`{"card": {"until": "•••"}, "name": "•••"}`:              `{"card": {"until": "•••"}, "name": "•••"}`, // no rule keeps these from everybody
		`{"card": {"number": "•••"}, "n": 1970670598291982290}`:  `{"card":{"number":4111111111111111111111},"n":1970670598291982290}`,
		`{"card": "•••"}`:                                        `{"card": "•••"}`,
		`{"card": {"number": "•••"`:                              `{"card": {"number": "•••"`,
		`{"items": []}`:                                          `{"items": []}`,
	} {
		got, err := s.Refill("pay", Args, json.RawMessage(changed), was)
		if err != nil || string(got) != want {
			t.Errorf("%s is filled as %s, %v, want %s", changed, got, err, want)
		}
	}
	// A place of a list may have been moved: its value could become another's.
	for changed, names := range map[string]string{
		`{"items": [{"code": "•••"}]}`:                        "args.items.0.code",
		`{"items": [{"code": "x"}, {"n": 1, "code": "•••"}]}`: "args.items.1.code",
	} {
		if got, err := s.Refill("pay", Args, json.RawMessage(changed), was); err == nil || !strings.HasPrefix(err.Error(), names+" ") {
			t.Errorf("%s is filled as %s, %v", changed, got, err)
		}
	}
	if got, err := s.Refill("pay", Args, json.RawMessage(`{"card": {"number": "•••"}}`), json.RawMessage(`{}`)); err == nil || !strings.HasPrefix(err.Error(), "args.card.number ") {
		t.Errorf("nothing is filled in as %s, %v", got, err)
	}
}
