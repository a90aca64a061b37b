package views

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// markdown writes somebody's words so that no reader of Markdown takes any of
// them for more than words: on one line, with a backslash before every sign that
// could begin or end something, and with what cannot be seen replaced.
func markdown(words string) string {
	var b strings.Builder
	begun := false // a sign that matters at the beginning of a line only is behind it
	for i, r := range strings.TrimSpace(words) {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
			continue
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			b.WriteRune(utf8.RuneError)
		case strings.ContainsRune("\\`*_[]<>#|&~!^$@{}", r),
			i == 0 && strings.ContainsRune("-+=", r),
			!begun && strings.ContainsRune(".)", r),
			r == ':' && strings.HasPrefix(strings.TrimSpace(words)[i:], "://"),
			r == '.' && endsInWWW(b.String()):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		begun = begun || !unicode.IsDigit(r)
	}
	return b.String()
}

// endsInWWW reports the beginning of what some readers make a link of.
func endsInWWW(text string) bool {
	return len(text) >= 3 && strings.EqualFold(text[len(text)-3:], "www")
}

// quoted writes somebody's words as a quotation, with their lines.
func quoted(words string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(words, "\r\n", "\n")) {
		b.WriteString("> " + markdown(line) + "  \n")
	}
	return b.String()
}

// table writes rows of cells that are Markdown already.
func table(b *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	b.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		line(r)
	}
	b.WriteByte('\n')
}
