package store_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// wide is a text of n bytes in characters of two and three bytes.
func wide(n int) string {
	s := strings.Repeat("帳", n/3)
	return s + []string{"", "x", "é"}[n%3]
}

func quoted(n int) json.RawMessage { return json.RawMessage(`"` + wide(n-2) + `"`) }

func nested(open, inner, shut string, n int) json.RawMessage {
	return json.RawMessage(strings.Repeat(open, n) + inner + strings.Repeat(shut, n))
}

func repeated(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func TestEachLimitOfARequestIsStatedAndHeldOnBothSides(t *testing.T) {
	f := open(t)
	// A list of n bytes as PostgreSQL writes it, with a space after each comma.
	list := func(n int) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat("1,", (n-3)/3) + strings.Repeat("1", 1+(n-3)%3) + "]")
	}
	for _, c := range []struct {
		field string
		set   func(*store.Request, bool) // false: just within, true: one too much
	}{
		{"kind", func(r *store.Request, over bool) { r.Kind = wide(store.MaxKind + one(over)) }},
		{"queue", func(r *store.Request, over bool) { r.Queue = wide(store.MaxQueue + one(over)) }},
		{"key", func(r *store.Request, over bool) { r.Key = wide(store.MaxKey + one(over)) }},
		{"actor", func(r *store.Request, over bool) { r.Actor = wide(store.MaxActor + one(over)) }},
		{"args", func(r *store.Request, over bool) { r.Args = quoted(store.MaxArgs + one(over)) }},
		{"args", func(r *store.Request, over bool) { r.Args = list(store.MaxArgs + one(over)) }},
		{"args", func(r *store.Request, over bool) {
			r.Args = json.RawMessage("[" + strings.Repeat("1e999,", 1044+one(over)*10) + "1]")
		}},
		{"args", func(r *store.Request, over bool) { r.Args = nested("[", "1", "]", store.MaxDepth+one(over)) }},
		{"args", func(r *store.Request, over bool) {
			r.Args = nested(`{"a":`, `"[[{"`, "}", store.MaxDepth+one(over))
		}},
		{"max_attempts", func(r *store.Request, over bool) { r.MaxAttempts = store.MaxAttempts + one(over) }},
		{"tags", func(r *store.Request, over bool) { r.Tags = repeated("x", store.MaxTags+one(over)) }},
		{"tags[1]", func(r *store.Request, over bool) { r.Tags = []string{"a", wide(store.MaxTag + one(over))} }},
		{"run_at", func(r *store.Request, over bool) {
			r.RunAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Add(time.Duration(one(over)) * time.Second)
		}},
		{"run_at", func(r *store.Request, over bool) {
			r.RunAt = time.Unix(0, 0).UTC().Add(-time.Duration(one(over)) * time.Second)
		}},
	} {
		within, over := store.Request{Kind: "report"}, store.Request{Kind: "report"}
		c.set(&within, false)
		c.set(&over, true)
		if out, err := f.Enqueue(f.ctx, within); err != nil {
			t.Errorf("%s just within its limit: %v", c.field, err)
		} else if p, err := f.Payload(f.ctx, out.ID); err != nil || len(p.Args) > store.MaxArgs {
			t.Errorf("%s just within its limit: %d bytes of args come back, %v", c.field, len(p.Args), err)
		}
		before := f.stored()
		_, err := f.Enqueue(f.ctx, over)
		f.wantInvalid(err, c.field)
		_, err = f.EnqueueMany(f.ctx, []store.Request{within, over})
		f.wantInvalid(err, "[1]."+c.field)
		if got := f.stored(); got != before {
			t.Errorf("%s over its limit: stored (jobs, transitions) %v, want %v", c.field, got, before)
		}
		within.Key = ""
		if _, err := f.EnqueueMany(f.ctx, []store.Request{within}); err != nil {
			t.Errorf("%s just within its limit, in bulk: %v", c.field, err)
		}
	}
}

func one(over bool) int {
	if over {
		return 1
	}
	return 0
}

// wantInvalid asserts a refusal that names the field and does not repeat its
// value.
func (f *fixture) wantInvalid(err error, field string) {
	f.t.Helper()
	var invalid *store.InvalidError
	switch {
	case !errors.As(err, &invalid):
		f.t.Errorf("%s: got %v, want an invalid error", field, err)
	case invalid.Field != field:
		f.t.Errorf("got %v, want %s named", err, field)
	case len(invalid.Message) > 200 || invalid.Message == "":
		f.t.Errorf("%s: the message is %q", field, invalid.Message)
	}
}

func TestABadFieldIsRefusedByItsNameAndNothingIsStored(t *testing.T) {
	f := open(t)
	for _, c := range []struct {
		field   string
		request store.Request
	}{
		{"kind", store.Request{}},
		{"kind", store.Request{Kind: "a\nb"}},
		{"kind", store.Request{Kind: "a\x00b"}},
		{"kind", store.Request{Kind: "a\xffb"}},
		{"queue", store.Request{Kind: "report", Queue: "a\x7fb"}},
		{"key", store.Request{Kind: "report", Key: "a\u0085b"}},
		{"tags[2]", store.Request{Kind: "report", Tags: []string{"a", "b", "c\td"}}},
		{"tags[0]", store.Request{Kind: "report", Tags: []string{""}}},
		{"max_attempts", store.Request{Kind: "report", MaxAttempts: -1}},
		{"actor", store.Request{Kind: "report", Actor: "a\rb"}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage(`{"a":`)}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage(`{"a":1} {}`)}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage(`{'a':1}`)}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage(" \n")}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage(`NaN`)}},
		{"args.a[1].b", store.Request{Kind: "report", Args: json.RawMessage(`{"a":[0,{"b":"x\u0000y"}]}`)}},
		{"args.month\ufffd", store.Request{Kind: "report", Args: json.RawMessage(`{"month\u0000":3}`)}},
		{"args[2][0]", store.Request{Kind: "report", Args: json.RawMessage(`[1,2,["\u0000"]]`)}},
		{"args.name", store.Request{Kind: "report", Args: json.RawMessage(`{"id":1,"name":"\ud83d"}`)}},
		{"args.name", store.Request{Kind: "report", Args: json.RawMessage(`{"id":1,"name":"\ud83d\u0041"}`)}},
		{"args.name", store.Request{Kind: "report", Args: json.RawMessage(`{"name":"\ude00\ud83d"}`)}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage("\"\\ud83d\xff\"")}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage("{\"a\":\"\xff\"}")}},
		{"args", store.Request{Kind: "report", Args: json.RawMessage("{\"a\":\"\xed\xa0\xbd\"}")}},
		{"args.n", store.Request{Kind: "report", Args: json.RawMessage(`{"n":1e1001}`)}},
		{"args.n", store.Request{Kind: "report", Args: json.RawMessage(`{"n":-1e-99999999999999999999}`)}},
		{"args[1]", store.Request{Kind: "report", Args: json.RawMessage(`[1,` + strings.Repeat("9", 1001) + `]`)}},
	} {
		_, err := f.Enqueue(f.ctx, c.request)
		f.wantInvalid(err, c.field)
		// A bulk has two ways in: by COPY, and by key.
		for _, key := range []string{"", "march"} {
			r := c.request
			if r.Key == "" {
				r.Key = key
			}
			_, err = f.EnqueueMany(f.ctx, []store.Request{{Kind: "report"}, r})
			f.wantInvalid(err, "[1]."+c.field)
		}
	}
	if got := f.stored(); got != [2]int64{} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
}

func TestEveryDigitOfANumberIsKept(t *testing.T) {
	f := open(t)
	for sent, want := range map[string]string{
		`1970670598291982290`:               `1970670598291982290`,
		`-9223372036854775809`:              `-9223372036854775809`,
		`18446744073709551616`:              `18446744073709551616`,
		`0.1234567890123456789`:             `0.1234567890123456789`,
		`1.10`:                              `1.10`,
		`1e-7`:                              `0.0000001`,
		`1.5E+3`:                            `1500`,
		`123456789012345678901234567890e-9`: `123456789012345678901.234567890`,
		`9007199254740993`:                  `9007199254740993`,
		strings.Repeat("9", 1000):           strings.Repeat("9", 1000),
		`"\ud83d\ude00\u00e9\u2028"`:        "\"\U0001F600é\u2028\"",
		`"a\\u0000b"`:                       `"a\\u0000b"`,
	} {
		args := json.RawMessage(`{"n": [` + sent + `]}`)
		one, err := f.Enqueue(f.ctx, store.Request{Kind: "report", Args: args})
		if err != nil {
			t.Errorf("%s: %v", sent, err)
			continue
		}
		many, err := f.EnqueueMany(f.ctx, []store.Request{{Kind: "report", Args: args}, {Kind: "report", Args: args, RunAt: time.Unix(1, 0)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{one.ID, many[0].ID, many[1].ID} {
			if p, err := f.Payload(f.ctx, id); err != nil || string(p.Args) != `{"n": [`+want+`]}` {
				t.Errorf("%s came back as %s, want %s (%v)", sent, p.Args, want, err)
			}
		}
		// The claim that a worker receives holds the same text.
		for _, c := range f.claimAs("a", 3) {
			if string(c.Args) != `{"n": [`+want+`]}` {
				t.Errorf("%s was claimed as %s", sent, c.Args)
			}
			f.complete("a", c.Lease, sent)
			if p, _ := f.Payload(f.ctx, c.Lease.JobID); string(p.Result) != want {
				t.Errorf("result %s came back as %s", sent, p.Result)
			}
		}
	}
}

func TestTheLargestJobLivesAndItsNotificationsStaySmall(t *testing.T) {
	f := open(t)
	ears := f.listener()
	kind, reason := wide(255*3), strings.Repeat("figures\n", 1280)
	id := f.enqueue(store.Request{Kind: kind, Key: wide(store.MaxKey), Args: quoted(store.MaxArgs), Tags: repeated(wide(store.MaxTag), store.MaxTags)})
	claim := func() store.Lease {
		got, err := f.Claim(f.ctx, store.ClaimParams{Worker: wide(200), Queue: store.DefaultQueue,
			Kinds: []store.KindLease{{Kind: kind, Lease: lease}}, AttemptIDs: attempts(1)})
		if err != nil || len(got) != 1 || len(got[0].Args) != store.MaxArgs {
			t.Fatalf("claim: %d jobs, %v", len(got), err)
		}
		return got[0].Lease
	}
	text := wide(100 << 10)
	out := f.fail("a", store.Failure{Lease: claim(), Permanent: true, Output: text, Error: store.AttemptError{Class: text, Message: text, Trace: text}})
	if out.Err != nil || out.State != store.Discarded {
		t.Fatalf("fail: %+v", out)
	}
	for _, verb := range []string{"requeue", "terminate", "requeue"} {
		do := f.Requeue
		if verb == "terminate" {
			do = f.Terminate
		}
		if _, err := do(f.ctx, store.OperatorParams{JobID: id, Seen: f.job(id).Revision, Actor: wide(store.MaxActor), Reason: reason}); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
	}
	if out := f.complete("a", claim(), string(quoted(store.MaxResult))); out.Err != nil {
		t.Fatal(out.Err)
	}
	heard := f.heard(ears)
	if len(heard) < 8 {
		t.Errorf("heard %d notifications of seven transactions", len(heard))
	}
	for _, n := range heard {
		if len(n) > 60 {
			t.Errorf("a notification of %d bytes: %.100s…", len(n), n)
		}
	}
	ts, _ := f.history(id)
	if !slices.ContainsFunc(ts, func(tr store.Transition) bool { return tr.Reason == reason }) {
		t.Error("the operator's reason was not kept whole")
	}
	f.consistent()
}
