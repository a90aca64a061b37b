package outcome

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestObviousSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"password=hunter2 next":                        "password=[masked] next",
		`{"api_key": "abc def", "n": 1}`:               `{"api_key": [masked], "n": 1}`,
		"DB_PASSWORD: 'a b'":                           "DB_PASSWORD: [masked]",
		"GET https://me:pw@host/x":                     "GET https://me:[masked]@host/x",
		"postgres://u:p%40ss@db:5432/x":                "postgres://u:[masked]@db:5432/x",
		"Authorization: Basic dXNlcjpwYXNz":            "Authorization: Basic [masked]",
		"sent bearer abcdefghijklmnop":                 "sent bearer [masked]",
		"key AKIAABCDEFGHIJKLMNOP used":                "key [masked] used",
		"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig": "jwt [masked]",
		"-----BEGIN RSA PRIVATE KEY-----\nAAAA\nBBBB":  "[masked]",
		"gh ghp_0123456789abcdefghijABCDEFGHIJ012345":  "gh [masked]",
		"the tokens are fine, 3 secrets found":         "the tokens are fine, 3 secrets found",
		"at 12:30 http://host:80/a@b":                  "at 12:30 http://host:80/a@b",
	} {
		if got := mask(in); got != want {
			t.Errorf("mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOnlyTextIsKept(t *testing.T) {
	t.Parallel()
	in := "a\x1b[31mred\x1b[0m\x00\x07 \x1b]0;title\x07b\r\nprogress 1\rprogress 2\xff\u202e\tend\n\n"
	want := "ared b\nprogress 1\nprogress 2\uFFFD\tend"
	if got := Tidy([]byte(in)); got != want {
		t.Errorf("Tidy = %q, want %q", got, want)
	}
}

func TestTheTailIsBoundedAndASecretAtTheCutIsStillMasked(t *testing.T) {
	t.Parallel()
	tl := &Tail{}
	line := "password=" + strings.Repeat("s", 90) + " é\n"
	for range 1000 {
		tl.Write([]byte(line))
	}
	tl.Write([]byte(strings.Repeat("é", 40000)))
	if len(tl.Bytes) != Held {
		t.Errorf("%d bytes are held", len(tl.Bytes))
	}
	got := Tidy(tl.Bytes)
	if len(got) > Kept || len(got) < Kept-2 || !utf8.ValidString(got) {
		t.Errorf("%d bytes are kept, valid: %t", len(got), utf8.ValidString(got))
	}
	tl = &Tail{}
	for range 1000 {
		tl.Write([]byte(line))
	}
	if got := Tidy(tl.Bytes); strings.Contains(got, "sss") || !strings.HasPrefix(got, "password=[masked] é\n") || len(got) > Kept {
		t.Errorf("kept %.60q of %d bytes", got, len(got))
	}
}

func TestTheLastLineIsWhatAMessageQuotes(t *testing.T) {
	t.Parallel()
	if got := LastLine("one\n two \n\n"); got != "two" {
		t.Errorf("last line %q", got)
	}
	if got := LastLine(strings.Repeat("é", 400)); len(got) > lineBytes+3 || !utf8.ValidString(got) {
		t.Errorf("last line of %d bytes", len(got))
	}
}

func FuzzTidyKeepsBoundedText(f *testing.F) {
	f.Add([]byte("token=\xff\x1b[31m://a:b@c"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got := Tidy(in)
		if len(got) > Kept || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\r") {
			t.Errorf("Tidy(%q) = %q", in, got)
		}
	})
}

func BenchmarkTidy(b *testing.B) {
	// A line that holds the hint of nearly every kind, and no secret.
	raw := []byte("key token passw authorization bearer eyj akia ghost\n" + strings.Repeat("2026-01-02 12:00:00 INFO fetched https://host/path?x=1 in 12 ms: 200\n", 1000))[:Held]
	b.SetBytes(Held)
	for b.Loop() {
		Tidy(raw)
	}
}
