package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// FuzzLine holds the reading of jobs, one a line: whatever comes, a line is a
// request with a kind, or an error that names the line.
func FuzzLine(f *testing.F) {
	for _, text := range []string{
		"", "\n\n", "\ufeff{\"kind\":\"a\"}", `{"kind":"a"}` + "\r\n" + `{"kind":"b"}`, `{"kind":"a","args":{"x":"\u0000"}}`, `{"kind":"\ud800"}`,
		`{"kind":"a","kind":"b"}`, `{"kind":"a","run_at":"+5m"}`, `{"kind":"a","run_at":"2026-13-45"}`, `{"kind":"a","priority":1e3}`, `{"kind":"a","max_attempts":0.5}`,
		`[1]`, `null`, `{`, `{"kind":"a"}}`, `{"kind":"a"} x`, "\xff\xfe", strings.Repeat("[", 3000), `{"kind":"a","tags":[null,1,"b"]}`, `{"":""}`, "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := newLineReader(strings.NewReader(text), time.Now())
		for {
			c := r.next(100, 1<<20)
			if len(c.requests) != len(c.lines) {
				t.Fatalf("%d requests of %d lines", len(c.requests), len(c.lines))
			}
			var line *lineError
			switch {
			case errors.Is(c.err, io.EOF):
				return
			case errors.As(c.err, &line):
				if line.Line < 1 || line.Error() == "" {
					t.Fatalf("%+v", line)
				}
				return
			case c.err != nil:
				t.Fatal(c.err)
			}
		}
	})
}
