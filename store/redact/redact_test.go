package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func set(t *testing.T, rules ...string) Set {
	t.Helper()
	var all []Rule
	for _, text := range rules {
		r, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all = append(all, r)
	}
	s, err := NewSet(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(raw); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return strings.TrimSpace(b.String())
}

func TestTheStrictestRuleHoldsInWhateverOrder(t *testing.T) {
	const given = `{"a":{"b":"x","c":[1.10,{"pin":"1234"}],"ok":true},"n":90071992547409931234,"card":"4111"}`
	for _, c := range []struct {
		rules            string
		masked, revealed string
	}{
		{"", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"•••","n":"•••"}`, given},
		{"other:args=never", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"•••","n":"•••"}`, given},
		{"*:args.n=show", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"•••","n":90071992547409931234}`, given},
		{"k:args=show", given, given},
		{"k:args=show k:args.a=mask", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"4111","n":90071992547409931234}`, given},
		{"k:args.a=mask k:args.a.b=show", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"•••","n":"•••"}`, given},
		{"*:args.**.PIN=never k:args.a.c=show", `{"a":{"b":"•••","c":[1.10,{"pin":"•••"}],"ok":true},"card":"•••","n":"•••"}`,
			`{"a":{"b":"x","c":[1.10,{"pin":"•••"}],"ok":true},"card":"4111","n":90071992547409931234}`},
		{"k:args.a.c.*.pin=show", `{"a":{"b":"•••","c":["•••",{"pin":"1234"}],"ok":true},"card":"•••","n":"•••"}`, given},
		{"k:args.a=never", `{"a":"•••","card":"•••","n":"•••"}`, `{"a":"•••","card":"4111","n":90071992547409931234}`},
		{"k:args.a.ok=never", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":"•••"},"card":"•••","n":"•••"}`, `{"a":{"b":"x","c":[1.10,{"pin":"1234"}],"ok":"•••"},"card":"4111","n":90071992547409931234}`},
		{"*:args=never k:args=show", `"•••"`, `"•••"`},
		{"k:args.**=show k:args.card=never", `{"a":{"b":"x","c":[1.10,{"pin":"1234"}],"ok":true},"card":"•••","n":90071992547409931234}`,
			`{"a":{"b":"x","c":[1.10,{"pin":"1234"}],"ok":true},"card":"•••","n":90071992547409931234}`},
		{"k*:args.c*=show", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"4111","n":"•••"}`, given},
		{"*.x:args.c*=show", `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"•••","n":"•••"}`, given},
		{`k:args.Card=show`, `{"a":{"b":"•••","c":"[ ••• 2 ]","ok":true},"card":"•••","n":"•••"}`, given}, // what shows, shows what is named
	} {
		rules := strings.Fields(c.rules)
		for range 2 {
			s := set(t, rules...)
			if got := compact(t, s.JSON("k", Args, json.RawMessage(given), Masked)); got != c.masked {
				t.Errorf("%s, masked: %s\nwant %s", rules, got, c.masked)
			}
			revealed := s.JSON("k", Args, json.RawMessage(given), Revealed)
			if c.revealed == given {
				if string(revealed) != given {
					t.Errorf("%s: not left as it is: %s", rules, revealed)
				}
			} else if got := compact(t, revealed); got != c.revealed {
				t.Errorf("%s, revealed: %s\nwant %s", rules, got, c.revealed)
			}
			for i, j := 0, len(rules)-1; i < j; i, j = i+1, j-1 {
				rules[i], rules[j] = rules[j], rules[i]
			}
		}
	}
}

func TestLongAndDeepPayloadsAreToldByTheirNumberUnlessARuleSpeaksOfThem(t *testing.T) {
	long := map[string]any{}
	for i := range 100 {
		long[fmt.Sprint("n", i)] = i
	}
	raw, _ := json.Marshal(map[string]any{"long": long, "deep": map[string]any{"a": map[string]any{"b": map[string]any{"c": map[string]any{"d": "x"}}}}})
	if got := compact(t, set(t).JSON("k", Result, raw, Masked)); got != `{"deep":{"a":{"b":{"c":"{ ••• 1 }"}}},"long":"{ ••• 100 }"}` {
		t.Error(got)
	}
	twins := json.RawMessage(`{"` + strings.Repeat("n", 90) + `1":1,"` + strings.Repeat("n", 90) + `2":2}`)
	if got := compact(t, set(t).JSON("k", Result, twins, Masked)); strings.Count(got, covered) != 2 {
		t.Errorf("two long names became one: %s", got)
	}
	if got := compact(t, set(t, "k:result.long.n7=show", "k:result.deep.a.b.c.d=show").JSON("k", Result, raw, Masked)); got != `{"deep":{"a":{"b":{"c":{"d":"x"}}}},"long":{"n7":7,"•••":"99 more"}}` {
		t.Error(got)
	}
}

func TestTextsFollowTheRulesAndLoseWhatNobodyMaySee(t *testing.T) {
	for _, c := range []struct {
		rules            string
		masked, revealed bool
	}{{"", false, true}, {"k:error=show", true, true}, {"k:error=show *:error=mask", false, true}, {"*:error=never", false, false}, {"other:error=show", false, true}} {
		s := set(t, strings.Fields(c.rules)...)
		for sight, want := range map[Sight]bool{Masked: c.masked, Revealed: c.revealed} {
			text, kept := s.Text("k", Error, "no answer", sight)
			if kept == want || (text != "") != want {
				t.Errorf("%s: %q, kept %v", c.rules, text, kept)
			}
		}
	}
}

func TestTextsLoseTheValuesThatNobodyMaySee(t *testing.T) {
	s := set(t, "*:args.card=never", "k:args.list=never", "k:result.key=never")
	secrets := s.Secrets("k", json.RawMessage(`{"card":"41\"11-x&y z","list":[123456,"ab",90071992547409931234,true],"open":"visible"}`),
		json.RawMessage(`{"key":"-----BEGIN-----\nfirst line of it\n-----END-----"}`))
	for given, want := range map[string]string{
		`card 41"11-x&y z or "41\"11-x&y z" of 123456 ab visible`: `card ••• or "•••" of ••• ab visible`,
		`{"card":"41\"11-x\u0026y z"}`:                            `{"card":"•••"}`,
		"Get https://x.example/?card=41%2211-x%26y+z":             "Get https://x.example/?card=•••",
		"row 90071992547409931234 is true":                        "row ••• is true",
		"cannot read first line of it here":                       "cannot read ••• here",
		"said: 90071992547409…":                                   "said: •••",
		"11-x&y z was refused":                                    "••• was refused",
		"":                                                        "",
	} {
		if got := secrets.Without(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	var many []string
	for i := range mostSecrets + 1 {
		many = append(many, fmt.Sprint("secret", i))
	}
	raw, _ := json.Marshal(map[string]any{"card": many})
	if got := s.Secrets("x", raw, nil).Without("all of it"); got != covered {
		t.Errorf("more secrets than are looked for, and a text is shown: %s", got)
	}
	if got := s.Secrets("x", json.RawMessage(`{"list":["visible"]}`), nil).Without("visible"); got != "visible" {
		t.Errorf("another kind's rule was used: %s", got)
	}
}

func TestNobodySearchesForWhatNobodyMaySee(t *testing.T) {
	s := set(t, "mail*:args.card=never", "*:args.**.pin=never", "mail:error=never", "k:args.list.1=never")
	for _, c := range []struct {
		kinds []string
		part  Part
		path  string
		want  bool
	}{
		{nil, Args, "card", true}, {nil, Args, "card.number", true}, {[]string{"report"}, Args, "n.pin", true}, {[]string{"mail.out"}, Args, "Card", true},
		{nil, Args, "pin", true}, {nil, Args, "n", false}, {[]string{"report"}, Args, "card", false}, {[]string{"report", "mail"}, Args, "card", true},
		{nil, Error, "", true}, {[]string{"report"}, Error, "", false}, {nil, Result, "card", false},
		{nil, Args, "list.1", true}, {nil, Args, "list.01", true}, {nil, Args, "list.-1", true}, {nil, Args, "list.2", false}, {[]string{"report"}, Args, "list.-1", false},
	} {
		var path []string
		if c.path != "" {
			path = strings.Split(c.path, ".")
		}
		if got := s.Hides(c.kinds, c.part, path); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestTheDefaultsCoverWhatSecretsAreUsuallyCalled(t *testing.T) {
	s, err := NewSet(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "passwordHash": true, "clientSecret": true, "aws_secret_access_key": true, "token": true, "accessToken": true,
		"Authorization": true, "Set-Cookie": true, "x-api-key": true, "apiKey": true, "privateKey": true, "credentials": true,
		"max_tokens": false, "secretary": false, "author": false, "key": false, "idempotency_key": false, "month": false, "pass": false, "cookies_eaten": false,
	} {
		raw, _ := json.Marshal(map[string]any{"a": []any{map[string]any{name: "x"}}})
		for _, part := range []Part{Args, Result} {
			if got := compact(t, s.JSON("any", part, raw, Revealed)); strings.Contains(got, covered) != kept {
				t.Errorf("%s in %s: %s", name, part, got)
			}
		}
	}
}

func TestWhoWasAskedAndHowItAnsweredIsShownOfRequests(t *testing.T) {
	s, err := NewSet(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if got := compact(t, s.JSON("http", Args, json.RawMessage(`{"target": "room", "path": "7", "body": {"n": 1}}`), Masked)); got != `{"body":{"n":"•••"},"path":"•••","target":"room"}` {
		t.Error(got)
	}
	if got := compact(t, s.JSON("http", Result, json.RawMessage(`{"status": 200, "body": "ok", "cut": false}`), Masked)); got != `{"body":"•••","cut":false,"status":200}` {
		t.Error(got)
	}
}

func TestARuleThatCannotBeUsedIsNamed(t *testing.T) {
	for text, why := range map[string]string{
		"":                         `rule "", at 1: must be KIND:PART.PATH=EFFECT`,
		"args.card=never":          "at 1: must be KIND:PART.PATH=EFFECT",
		"mail:args.card":           "at 15: must be KIND:PART.PATH=EFFECT",
		"mail:args.card=hide":      `rule "mail:args.card=hide", at 16: effect: "hide" must be show, mask or never`,
		"mail:arg.card=never":      `at 6: part: "arg" must be args, result, error or output`,
		"mail:error.message=never": "at 11: path: the part error is a text",
		"mail:args..card=never":    "at 11: path: holds an empty name",
		"mail:args.=never":         "at 11: path: holds an empty name",
		`mail:args.b."a=never`:     "at 13: path: a name that begins with a quote",
		`mail:args."a"b=never`:     "at 14: path: a dot belongs",
		":args=never":              "at 1: must be KIND:PART.PATH=EFFECT",
		"k:args" + strings.Repeat(".a", 33) + "=never": "at 7: path: has more than 32 names",
		"k:args.\xff=never":                            "is not UTF-8",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`a:b:args."x.y".*.z=never`:    `"a:b" args ["x.y" "*" "z"]`,
		`a:b.c:args.d=mask`:           `"a:b.c" args ["d"]`,
		`*:args=show`:                 `"*" args []`,
		`a=b:output=never`:            `"a=b" output []`,
		`k:result.a=b.*_id.**.c=show`: `"k" result ["a=b" "*_id" "**" "c"]`,
	} {
		r, err := Parse(text)
		if got := fmt.Sprintf("%q %s %q", r.Kind, r.Part, r.Path); err != nil || got != want {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	if _, err := NewSet([]Rule{{Kind: "a", Part: Args, Effect: Never}, {Kind: "b", Part: "arg", Effect: Never}}); err == nil || !strings.Contains(err.Error(), `rule 2, about arg of "b": part:`) {
		t.Error(err)
	}
}

func TestPatternsAreAboutWholeNames(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "anything", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*b*c", "a-b-c", true}, {"a*b*c", "abc", true}, {"a*b*c", "acb", false}, {"*ab*ab", "ab", false}, {"*a*", "bab", true}, {"a*a", "a", false},
	} {
		if got := like(c.pattern, c.text); got != c.want {
			t.Errorf("%s is like %s: %v", c.text, c.pattern, got)
		}
	}
}

// Whatever the payload and the rules: a value that nobody may see is in nothing
// that is shown, and masking without rules shows no value at all.
func TestNoValueThatIsKeptIsEverShown(t *testing.T) {
	const canary = "canary-5f1d"
	names := rapid.SampledFrom([]string{"a", "b", "Card", "card"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalar := rapid.Just[any](canary)
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar,
			rapid.Map(rapid.MapOfN(names, value(depth-1), 0, 4), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(l []any) any { return l }))
	}
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(map[string]any{"card": value(5).Draw(t, "secret"), "rest": map[string]any{"a": 1}})
		if err != nil {
			t.Fatal(err)
		}
		if got := (Set{}).JSON("k", Args, raw, Masked); strings.Contains(string(got), canary) {
			t.Fatalf("masked: %s", got)
		}
		path := rapid.SampledFrom([]string{"card", "CARD", "**.card", "*"}).Draw(t, "path")
		never, err := Parse("*:args." + path + "=never")
		if err != nil {
			t.Fatal(err)
		}
		show, _ := Parse("k:args." + rapid.SampledFrom([]string{"**", "card", "card.**", "*.*"}).Draw(t, "shown") + "=show")
		s, _ := NewSet([]Rule{show, never})
		for _, sight := range []Sight{Masked, Revealed} {
			if got := s.JSON("k", Args, raw, sight); strings.Contains(string(got), canary) || !json.Valid(got) {
				t.Fatalf("%s with %s: %s", raw, path, got)
			}
		}
	})
}
