package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

const jsonLimit = 64 << 10

// jsonCorpus is JSON, nearly JSON, and what PostgreSQL is known to refuse.
var jsonCorpus = []string{
	`{}`, `[]`, `null`, `true`, `0`, `-0`, `-0.0`, `""`, ` { "a" : [ 1 , 2 ] } `, `{"a":1,"a":2}`, `{"":{"":""}}`,
	`1e-7`, `1E+400`, `1e1000`, `1e-1000`, `-1.5e1001`, `1e99999999999999999999`, `0e999999`, `1.`, `.5`, `01`, `+1`, `1e`, `0x10`, `Infinity`, `NaN`,
	`0.1234567890123456789`, `1970670598291982290`,
	`"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `"\ud83d"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx\ude00"`, `"\uD83D\uDE00"`,
	`"\u00"`, `"\u12G4"`, `"\x41"`, `"\/\b\f\n\r\t\"\\"`, `{"\u0000":1}`, `{"a":{"b":["\u0000"]}}`, `"\uffff\ufdd0\ufeff"`,
	"\"\x01\"", "\"\x7f\"", "\"\xff\"", "\"\xed\xa0\xbd\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "\xef\xbb\xbf{}", "\"\u2028\U0010FFFF\"", "\"a\x00b\"", "\x00", "{}\x00",
	`{"a":1}{}`, `{"a":1},`, `[1,]`, `{"a":}`, `{,}`, `// 1`, `{a:1}`, `'a'`, `"abc`, `tru`, `nul`, "1\v", "1\u00a0", ` `, ``,
	`{"kind":"report","args":{"month":3,"lines":[{"sum":"12.50","text":"für März"},{"sum":-1e-2}]},"tags":["a","b"]}`,
	strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000),
	strings.Repeat("9", 1000), "0." + strings.Repeat("9", 998), strings.Repeat("9", 1001), "[" + strings.Repeat("1e1000,", 200) + "1]",
}

// jsonKeeper asks a real server what it keeps of a text.
type jsonKeeper struct{ conn *pgx.Conn }

func newJSONKeeper(t testing.TB) jsonKeeper {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return jsonKeeper{conn}
}

// hold asserts the promise of CheckJSON: what it accepts PostgreSQL keeps,
// digit for digit, within the limit. It reports whether it was accepted.
func (k jsonKeeper) hold(t testing.TB, raw []byte) bool {
	t.Helper()
	if err := store.CheckJSON("args", raw, jsonLimit); err != nil {
		if !strings.HasPrefix(err.Error(), "args") {
			t.Errorf("%.200q: the refusal does not name the field: %v", raw, err)
		}
		return false
	}
	var kept string
	if err := k.conn.QueryRow(context.Background(), "select $1::text::jsonb::text", string(raw)).Scan(&kept); err != nil {
		t.Errorf("accepted, but PostgreSQL refuses %.300q: %v", raw, err)
		return true
	}
	if len(kept) > jsonLimit {
		t.Errorf("%.200q: accepted with %d bytes, kept with %d, over the limit", raw, len(raw), len(kept))
	}
	if sent, got := decoded(t, raw), decoded(t, []byte(kept)); !reflect.DeepEqual(sent, got) {
		t.Errorf("%.300q was kept as %.300q", raw, kept)
	}
	return true
}

// decoded holds each number as an exact fraction.
func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%.300q: %v", raw, err)
	}
	return exact(v)
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			return v
		}
		return r.RatString()
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return v
}

func TestWhatCheckJSONAcceptsPostgreSQLKeepsDigitForDigit(t *testing.T) {
	t.Parallel()
	k := newJSONKeeper(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	accepted, refused := 0, 0
	for _, text := range jsonCorpus {
		k.hold(t, []byte(text))
	}
	for range 2000 {
		raw := mutated(random, []byte(jsonCorpus[random.IntN(len(jsonCorpus))]))
		if k.hold(t, raw) {
			accepted++
		} else {
			refused++
		}
		if t.Failed() {
			t.Fatalf("seed %d: %.500q", seed, raw)
		}
	}
	if accepted < 200 || refused < 200 {
		t.Errorf("%d accepted, %d refused: the texts are all of one sort", accepted, refused)
	}
}

// mutated changes a text in a few places, mostly by pieces that mean something
// in JSON.
func mutated(random *rand.Rand, raw []byte) []byte {
	pieces := []string{`"`, `\`, `\u`, `\u0000`, `\ud83d`, `\ude00`, `u0000`, `e`, `e-`, `E+9`, `e999`, `.`, `-`, `0`, `123456789`, ` `, "\n", `,`, `:`, `[`, `]`, `{`, `}`,
		`"a":`, `[1,2]`, `{"k":"v"}`, "é", "\U0001F600", "\xff", "\x00", "\x1f", strings.Repeat("7", 500)}
	raw = bytes.Clone(raw)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(raw) + 1)
		piece := []byte(pieces[random.IntN(len(pieces))])
		switch random.IntN(5) {
		case 0:
			raw = append(raw[:at], append(piece, raw[at:]...)...)
		case 1:
			end := min(len(raw), at+random.IntN(4))
			raw = append(raw[:at], raw[end:]...)
		case 2:
			if at < len(raw) {
				raw[at] = byte(random.Uint32())
			}
		case 3:
			raw = append([]byte(`{"args":[`), append(raw, `]}`...)...)
		case 4:
			raw = append([]byte(`{"text":"`), append(append(piece, bytes.Trim(raw, `"`)...), `"}`...)...)
		}
	}
	return raw
}

func TestCheckJSONNamesThePlace(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a":{"b":[1,"\u0000"]}}`: "result.a.b[1]",
		`[[["\ud83d"]]]`:           "result[0][0][0]",
		`{"a":1,"b":{"\ud83d":2}}`: "result.b.\ufffd",
		`{"n":[1,1e5000]}`:         "result.n[1]",
		`"\u0000"`:                 "result",
		`{"` + strings.Repeat("k", 500) + `":"\u0000"}`: "result." + strings.Repeat("k", 64),
	} {
		err := store.CheckJSON("result", []byte(raw), jsonLimit)
		if invalid, ok := err.(*store.InvalidError); !ok || invalid.Field != want {
			t.Errorf("%.80s: %v, want %s named", raw, err, want)
		}
	}
	if err := store.CheckJSON("args", []byte(`{"a": tru}`), jsonLimit); err == nil || !strings.Contains(err.Error(), "at byte") {
		t.Errorf("a slip of the pen: %v, want its place", err)
	}
}

func TestCheckJSONHoldsItsLimitsOnBothSides(t *testing.T) {
	t.Parallel()
	k := newJSONKeeper(t)
	for name, text := range map[string]func(int) string{
		"bytes":  func(over int) string { return `"` + strings.Repeat("x", jsonLimit-2+over) + `"` },
		"spaces": func(over int) string { return strings.Repeat(" ", jsonLimit-1+over) + "1" },
		"commas": func(over int) string {
			return "[" + strings.Repeat("1,", (jsonLimit-4)/3) + strings.Repeat("1", 2+over) + "]"
		},
		"depth": func(over int) string {
			return strings.Repeat("[", store.MaxDepth+over) + strings.Repeat("]", store.MaxDepth+over)
		},
		"digits":    func(over int) string { return strings.Repeat("9", 1000+over) },
		"powers":    func(over int) string { return fmt.Sprintf("1e%d", 1000+over) },
		"fractions": func(over int) string { return fmt.Sprintf("1e-%d", 1000+over) },
	} {
		if !k.hold(t, []byte(text(0))) {
			t.Errorf("%s: refused just within the limit: %v", name, store.CheckJSON("args", []byte(text(0)), jsonLimit))
		}
		if k.hold(t, []byte(text(1))) {
			t.Errorf("%s: accepted over the limit", name)
		}
	}
}

// FuzzCheckJSON looks for a text that CheckJSON accepts and a real PostgreSQL
// refuses or changes.
func FuzzCheckJSON(f *testing.F) {
	for _, text := range jsonCorpus {
		f.Add([]byte(text))
	}
	k := newJSONKeeper(f)
	f.Fuzz(func(t *testing.T, raw []byte) { k.hold(t, raw) })
}
