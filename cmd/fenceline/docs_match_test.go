package main

import (
	"regexp"
	"strings"
	"testing"
)

// matches compares what is printed with what a document shows. Widths of
// columns and of indents are not compared.
func matches(shown, printed string) bool {
	var pattern strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(shown), "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(.*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(narrow(line)), "…", ".*") + "\n")
	}
	var text strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(printed), "\n") {
		text.WriteString(narrow(line) + "\n")
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`).MatchString(text.String())
}

func narrow(line string) string { return strings.Join(strings.Fields(line), " ") }

func TestWhatADocumentShowsIsComparedWithWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a  b\nc\n", "a b\nc", true},
		{"a\n", "a\nb\n", false},
		{"a\n", "", false},
		{"job …: completed", "job 17: completed", true},
		{"job …: completed", "job 17: failed", false},
		{"a\n…\nz", "a\nb\nc\nz", true},
		{"a\n…\nz", "a\nz", true},
		{"a\n…\nz", "a\nb", false},
		{"…\nz", "x\ny\nz\n", true},
		{"1.5", "1x5", false},
	} {
		if matches(c.shown, c.printed) != c.want {
			t.Errorf("%q shown, %q printed: want %v", c.shown, c.printed, c.want)
		}
	}
}
