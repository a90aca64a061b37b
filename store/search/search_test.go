package search_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store/search"
)

func TestEveryFormIsReadAndWrittenInItsOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"":       "",
		" \t\n ": "",
		`kind:report state:discarded error:"timeout" older:1h queue:"a/b"`: `kind:report state:discarded error:timeout older:1h queue:a/b`,
		"KIND:Report  State:DISCARDED":                                     "kind:Report state:discarded",
		"70412":                                                            "id:70412",
		"070412":                                                           "key:070412",
		"99999999999999999999":                                             "key:99999999999999999999",
		"monthly/2026-11":                                                  "key:monthly/2026-11",
		`"two words"`:                                                      `key:"two words"`,
		"-gone":                                                            "key:-gone",
		"-kind:a,b":                                                        "-kind:a,b",
		`worker:host-a* tag:"a b"*`:                                        `worker:host-a* tag:"a b"*`,
		`key:"a*"`:                                                         `key:"a*"`,
		"key:*":                                                            "key:*",
		`key:a"b`:                                                          `key:a"b`,
		`key:"\"\\\n\t"`:                                                   `key:"\"\\\n\t"`,
		"key:a:b:c":                                                        "key:a:b:c",
		"id:7,5 attempts:>3":                                               "id:7,5 attempts:>3",
		"attempts:2..5 attempts:<=4":                                       "attempts:2..5 attempts:<=4",
		"older:90m newer:2w":                                               "older:1h30m newer:14d",
		"older:0s":                                                         "older:0s",
		"enqueued:>2026-01-01":                                             "enqueued:>2026-01-01",
		"enqueued:2026-01-01..2026-01-31":                                  "enqueued:2026-01-01..2026-01-31",
		"enqueued:2026-01-01T09:30+02:00":                                  "enqueued:2026-01-01T07:30Z",
		`finished:<="2026-01-01 09:30:05"`:                                 "finished:<=2026-01-01T09:30:05Z",
		"finished:2026-01-01T09:30:05.25Z":                                 "finished:2026-01-01T09:30:05.250000Z",
		"finished:>-90s due:<+10m due:>NOW":                                "finished:>-1m30s due:<+10m due:>now",
		"enqueued:-2h..-1h":                                                "enqueued:-2h..-1h",
		"lease:expired refused:no":                                         "lease:expired refused:no",
		"args.customer_id:1970670598291982290":                             "args.customer_id:1970670598291982290",
		`args.customer_id:"1970670598291982290"`:                           `args.customer_id:"1970670598291982290"`,
		`ARGS.items.0.sku:A-1 args."a.b".c:true`:                           `args.items.0.sku:A-1 args."a.b".c:true`,
		`args.note:"" args.n:-1.50 args.name:ac* args.x:"1"*`: `args.note:"" args.n:-1.50 args.name:ac* args.x:1*`,
	} {
		q, err := search.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if q.String() != want {
			t.Errorf("%q is written %q, want %q", text, q, want)
		}
	}
}

func TestAMistakeNamesItsTermItsPlaceAndAWayOut(t *testing.T) {
	for text, want := range map[string]struct {
		at    int
		term  string
		words string
	}{
		"kind:report stat:running":               {13, "stat:running", "The fields are state, kind"},
		"order:12":                               {1, "order:12", "write key:order:12"},
		"état:x kind:":                           {1, "état:x", "names no field"},
		"é kind:":                                {3, "kind:", "has no value; write it as kind:report"},
		"state:done":                             {1, "state:done", "scheduled, available, running"},
		`kind:a queue:"b c`:                      {8, `queue:"b c`, "no closing quote"},
		`queue:"b"c`:                             {1, `queue:"b"c`, "right behind its closing quote"},
		`key:"a\x"`:                              {1, `key:"a\x"`, "backslash"},
		"kind:a kind:b":                          {8, "kind:b", "write kind:a,b"},
		`kind:a ""`:                              {8, `""`, "empty key"},
		"1 2":                                    {3, "2", "write id:1,2"},
		"attempts:many":                          {1, "attempts:many", "whole number"},
		"attempts:>-1":                           {1, "attempts:>-1", "whole number"},
		"attempts:5..2":                          {1, "attempts:5..2", "end comes before"},
		"attempts:>1..2":                         {1, "attempts:>1..2", "one or the other"},
		"attempts:1,2..3":                        {1, "attempts:1,2..3", "one or the other"},
		"attempts:>1,2":                          {1, "attempts:>1,2", "one or the other"},
		"id:9223372036854775808":                 {1, "id:9223372036854775808", "whole number"},
		"enqueued:yesterday":                     {1, "enqueued:yesterday", "2026-01-31"},
		"enqueued:2026-02-30":                    {1, "enqueued:2026-02-30", "needs a time"},
		"enqueued:-1h":                           {1, "enqueued:-1h", "write enqueued:>-1h"},
		"enqueued:0001-01-01":                    {1, "enqueued:0001-01-01", "1900"},
		"enqueued:>2026-01-01T00:00:00.1234567Z": {1, "enqueued:>2026-01-01T00:00:00.1234567Z", "microseconds"},
		"enqueued:2026-02-01..2026-01-01":        {1, "enqueued:2026-02-01..2026-01-01", "end comes before"},
		"older:1":                                {1, "older:1", "1h30m"},
		"older:101w,1h":                          {1, "older:101w,1h", "one length"},
		"older:99999d":                           {1, "older:99999d", "100 years"},
		"state:run*":                             {1, "state:run*", "none of its values"},
		"args.customer_id":                       {1, "args.customer_id", "no value"},
		"args.x:":                                {1, "args.x:", "has no value"},
		"args:12":                                {1, "args:12", "name of a value"},
		"args..x:1":                              {1, "args..x:1", "empty name"},
		`args."a"b:1`:                            {1, `args."a"b:1`, "right behind"},
		"kind:a\x00":                             {1, "the search", "NUL"},
		"kind:\xff":                              {1, "the search", "UTF-8"},
		"key:" + strings.Repeat("x", 1025):       {1, "key:" + strings.Repeat("x", 76) + "…", "limit is 1024"},
		strings.Repeat("x", search.MaxBytes+1):   {1, "the search", "limit is 4096"},
		strings.Repeat("tag:a ", 51):             {301, "tag:a", "limit is 50"},
		"id:" + strings.Repeat("1,", 200) + "1":  {1, "id:" + strings.Repeat("1,", 38) + "1…", "more than 200"},
		"args" + strings.Repeat(".a", 33) + ":1": {1, "args" + strings.Repeat(".a", 33) + ":1", "deeper than 32"},
	} {
		_, err := search.Parse(text)
		var syntax *search.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if syntax.At != want.at || syntax.Term != want.term || !strings.Contains(syntax.Message, want.words) {
			t.Errorf("%q: at %d %q: %s; want at %d %q: … %s …", text, syntax.At, syntax.Term, syntax.Message, want.at, want.term, want.words)
		}
	}
}

// written makes a query of anything that the language can say.
func written(r *rand.Rand) search.Query {
	texts := []string{"a", "report", "a b", `"`, `\`, `a"b`, "a,b", "*", "x*", "ü–😀", "a\nb", "\t", "1", "true", ">3", "..", "-x", "a:b", "\u200b", "\u00a0", "'", "<script>", strings.Repeat("y", 1024)}
	text := func() string { return texts[r.IntN(len(texts))] }
	moment := func() search.Instant {
		if r.IntN(2) == 0 {
			return search.Instant{Relative: true, Offset: time.Duration(r.Int64N(2e9)-1e9) * time.Second}
		}
		length := []time.Duration{24 * time.Hour, time.Minute, time.Second, time.Microsecond}[r.IntN(4)]
		from := time.Unix(0, r.Int64N(4e18)).UTC().Truncate(length)
		if length == time.Microsecond && from.Nanosecond() == 0 {
			from = from.Add(time.Microsecond)
		}
		return search.Instant{From: from, To: from.Add(length)}
	}
	var q search.Query
	used := map[search.Field]bool{}
	for range r.IntN(6) {
		info := search.Fields[r.IntN(len(search.Fields))]
		if used[info.Name] {
			continue
		}
		used[info.Name] = true
		t := search.Term{Not: r.IntN(4) == 0, Field: info.Name}
		for range 1 + r.IntN(2) {
			var v search.Value
			switch info.Sort {
			case search.Text:
				v.Text, v.Prefix = text(), r.IntN(4) == 0
			case search.Choice:
				v.Text = info.Words[r.IntN(len(info.Words))]
			case search.Number:
				v.Number = r.Int64N(math.MaxInt64)
			case search.Moment:
				v.At = moment()
			case search.Span:
				v.Span = time.Duration(r.Int64N(3e9)) * time.Second
			case search.Payload:
				v.Text, v.Prefix = text(), r.IntN(4) == 0
				if r.IntN(3) == 0 {
					v = search.Value{Text: []string{"1970670598291982290", "-0.50", "1e400", "null"}[r.IntN(4)], Scalar: true}
				}
			}
			t.Values = append(t.Values, v)
		}
		switch info.Sort {
		case search.Payload:
			for range 1 + r.IntN(3) {
				t.Path = append(t.Path, append(texts[:20:20], "", "a.b")[r.IntN(22)])
			}
		case search.Span:
			t.Values = t.Values[:1]
		case search.Number, search.Moment:
			if t.Op = []search.Op{search.Is, search.More, search.Least, search.Less, search.Most}[r.IntN(5)]; t.Op != search.Is {
				t.Values = t.Values[:1]
			} else if info.Sort == search.Moment {
				t.Values = []search.Value{{At: search.Instant{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}}}
			} else if len(t.Values) == 2 && t.Values[0].Number <= t.Values[1].Number {
				t.Op = search.Between
			}
		}
		q.Terms = append(q.Terms, t)
	}
	return q
}

func TestWhatIsWrittenReadsAsTheSame(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	longest := 0
	for range 20000 {
		q := written(r)
		longest = max(longest, len(q.Terms))
		text := q.String()
		if len(text) > search.MaxBytes {
			continue
		}
		got, err := search.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %q: %v", seed, text, err)
		}
		if !reflect.DeepEqual(got, q) {
			t.Fatalf("seed %d: %q\nwas  %#v\nreads %#v", seed, text, q, got)
		}
	}
	if longest < 4 {
		t.Errorf("no query had more than %d terms", longest)
	}
}

func TestAControlChangesItsTermAndNoOther(t *testing.T) {
	for _, c := range []struct {
		from  string
		field search.Field
		value string
		want  string
	}{
		{"", search.Kind, "report", "kind:report"},
		{"kind:a state:running -kind:c", search.Kind, "b", "kind:b state:running -kind:c"},
		{"kind:a state:running", search.Kind, "", "state:running"},
		{"", search.Kind, "two words", `kind:"two words"`},
		{"", search.Kind, "a -queue:b", `kind:"a -queue:b"`},
		{"", search.Queue, `"`, `queue:"\""`},
		{"", search.Key, "a,b", "key:a,b"},
		{"", search.Attempts, ">3", "attempts:>3"},
		{"-kind:c", search.Kind, "", "-kind:c"},
		{"", search.Kind, "", ""},
	} {
		q, err := search.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.With(c.field, c.value)
		if err != nil || got.String() != c.want {
			t.Errorf("%q with %s %q: %q %v, want %q", c.from, c.field, c.value, got, err, c.want)
		}
		if q.String() != c.from {
			t.Errorf("%q became %q", c.from, q)
		}
		if c.value != "" && c.field != search.Kind {
			if back, err := (search.Query{}).With(c.field, got.ValueOf(c.field)); err != nil || back.ValueOf(c.field) != got.ValueOf(c.field) {
				t.Errorf("%q shown in its control reads %q %v", got.ValueOf(c.field), back, err)
			}
		}
	}
	for field, value := range map[search.Field]string{search.State: "done", search.Attempts: "many", search.Older: "1h 2h", search.State + "s": "x"} {
		if _, err := (search.Query{}).With(field, value); err == nil {
			t.Errorf("%s %q was taken", field, value)
		}
	}
}

func TestEveryFieldTellsAnExampleThatIsRead(t *testing.T) {
	for _, f := range search.Fields {
		q, err := search.Parse(f.Example)
		if err != nil || len(q.Terms) != 1 || q.Terms[0].Field != f.Name {
			t.Errorf("%s: %v %v", f.Example, q, err)
		}
		if q.InArgs() != (f.Name == search.Args) {
			t.Errorf("%s in args: %v", f.Example, q.InArgs())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, field := range search.Fields {
		f.Add(field.Example)
		f.Add("-" + field.Example + ",x")
	}
	for i := range uint64(50) {
		f.Add(written(rand.New(rand.NewPCG(i, 1))).String())
	}
	for _, text := range []string{"", `"`, `\`, `args."`, "args.:", "-:", ":", "kind:\"\\", "enqueued:..", "attempts:>=", "older:+1h", "a\u2028b", "é:é", "\xff", "*", "key:**", "enqueued:2026-01-01T23:59:60Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := search.Parse(text)
		if err != nil {
			var syntax *search.SyntaxError
			if !errors.As(err, &syntax) || syntax.At < 1 || syntax.At > len([]rune(text))+1 || syntax.Message == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		again, err := search.Parse(q.String())
		if len(q.String()) > search.MaxBytes {
			return // the one form can be longer than what was typed
		}
		if err != nil || !reflect.DeepEqual(again, q) || again.String() != q.String() {
			t.Fatalf("%q is written %q and reads %s %v", text, q, fmt.Sprintf("%#v", again), err)
		}
	})
}
