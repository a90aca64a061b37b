package outcome

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Kept is how many bytes of others' text are stored beside an attempt.
	Kept = 8 << 10
	// Held is how many are read of it, so that a secret at the cut is still
	// recognised.
	Held = 2 * Kept

	lineBytes = 300 // what an error's message quotes of a last line
)

var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])`)

// Masked stands in the place of a secret.
const Masked = "[masked]"

// secrets are what obviously is one. An expression is tried only on a text that
// holds one of its hints, in lower case.
var secrets = []struct {
	hints []string
	is    *regexp.Regexp
	shown string // what stands in its place
}{
	{[]string{"private key-----"},
		regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), Masked},
	{[]string{"authorization"},
		regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?)[^\s"',;]+`), "${1}" + Masked},
	{[]string{"bearer"},
		regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}" + Masked},
	{[]string{"://"},
		regexp.MustCompile(`(://[^\s:/@]*:)[^\s/@]+@`), "${1}" + Masked + "@"},
	{[]string{"passw", "passphrase", "secret", "token", "key", "credential"},
		regexp.MustCompile(`(?i)((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)` +
			`[A-Za-z0-9_.-]*["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s"',;&]+)`), "${1}" + Masked},
	{[]string{"eyj"},
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), Masked},
	{[]string{"akia", "asia"},
		regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), Masked},
	{[]string{"gh", "xox", "sk_"},
		regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|sk_(?:live|test)_[A-Za-z0-9]{10,})`), Masked},
}

// Tail keeps the last [Held] bytes of what is written.
type Tail struct{ Bytes []byte }

// Write keeps the end of what is written, up to the tail's length. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.Bytes = append(t.Bytes, p[max(0, len(p)-Held):]...)
	if over := len(t.Bytes) - Held; over > 0 {
		t.Bytes = append(t.Bytes[:0], t.Bytes[over:]...)
	}
	return len(p), nil
}

// Tidy makes what others said last fit to be kept and shown: text without
// control characters and obvious secrets, its last 8 KiB, from a line's start
// where there is one. It is a net, not a promise: nobody should say secrets.
func Tidy(raw []byte) string {
	if len(raw) >= Held {
		// The first line may be the second half of a secret.
		if _, rest, found := bytes.Cut(raw, []byte("\n")); found {
			raw = rest
		}
	}
	s := mask(clean(string(raw)))
	if len(s) <= Kept {
		return strings.TrimRight(s, "\n ")
	}
	s = s[len(s)-Kept:]
	if _, rest, found := strings.Cut(s, "\n"); found && rest != "" {
		s = rest
	}
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return strings.TrimRight(s, "\n ")
}

func clean(s string) string {
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}

func mask(s string) string {
	lower := strings.ToLower(s)
	for _, secret := range secrets {
		for _, hint := range secret.hints {
			if strings.Contains(lower, hint) {
				s = secret.is.ReplaceAllString(s, secret.shown)
				break
			}
		}
	}
	return s
}

// LastLine is the last line that says something, cut to fit an error's message.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
	if len(s) > lineBytes {
		s = strings.ToValidUTF8(s[:lineBytes], "") + "…"
	}
	return s
}
