package views

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestWordsStayWordsInMarkdown(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"plain words, 12 of 30 (40%).": "plain words, 12 of 30 (40%).",
		"# head":                       `\# head`,
		"- item":                       `\- item`,
		"1. item":                      `1\. item`,
		"a-b":                          "a-b",
		"| cell | cell |":              `\| cell \| cell \|`,
		"[x](javascript:1) ![y](z)":    `\[x\](javascript:1) \!\[y\](z)`,
		"<script>&amp;</script>":       `\<script\>\&amp;\</script\>`,
		"https://x.test www.x.test":    `https\://x.test www\.x.test`,
		"me@x.test":                    `me\@x.test`,
		"`code` *b* _i_ ~~s~~":         "\\`code\\` \\*b\\* \\_i\\_ \\~\\~s\\~\\~",
		"one\ntwo\r\n\n# three":        `one two   \# three`,
		"back\\slash\\":                `back\\slash\\`,
		"a\x00b\u202ec":                "a\ufffdb\ufffdc",
		"    indented":                 "indented",
		"===":                          `\===`,
	} {
		if got := markdown(words); got != want {
			t.Errorf("%q became %q, want %q", words, got, want)
		}
	}
}

func FuzzWordsStayWordsInMarkdown(f *testing.F) {
	for _, seed := range []string{"", "# x", "a\\|b", "\n\n---\n", "![a](b)", "<b>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, words string) {
		got := markdown(words)
		if strings.ContainsAny(got, "\n\r\t\x00") {
			t.Fatalf("%q: more than one line", got)
		}
		escaped := false
		for _, r := range got {
			if !escaped && strings.ContainsRune("`*_[]<>#|&~!^$@{}", r) {
				t.Fatalf("%q: %q is bare", got, r)
			}
			escaped = !escaped && r == '\\'
		}
		if escaped {
			t.Fatalf("%q ends within an escape", got)
		}
	})
}

// hostileReport is a report in which every text is the same.
func hostileReport(text string) store.IncidentReport {
	at := time.Date(2026, 3, 1, 3, 12, 0, 0, time.UTC)
	i := store.Incident{ID: 7, State: store.IncidentResolved, Severity: "high", Rule: text, Scope: text, What: text, Search: text, Owner: text,
		OpenedAt: at, FoundAt: at, ResolvedAt: at.Add(time.Hour), JobsSince: at, MergedInto: 3, Reopened: 2}
	v := store.IncidentView{Now: at.Add(2 * time.Hour), Incident: i, More: true, Similar: []store.Incident{i}, Merged: []store.Incident{i}, Touched: store.Count{N: 500}}
	for _, a := range []store.IncidentAction{store.IncidentOpened, store.IncidentAcknowledge, store.IncidentNote, store.IncidentAction(text)} {
		v.Line = append(v.Line, store.IncidentLine{At: at, Of: 7, Action: a, Actor: text, Reason: text, Until: at})
	}
	v.Line = append(v.Line, store.IncidentLine{At: at, Of: 7, Action: "halt", Actor: text, Reason: text, Operation: store.IncidentOperation{ID: 4, Does: store.Action(text), Total: 7}})
	v.Line = append(v.Line, store.IncidentLine{At: at, Type: store.TypeExpired, N: 12})
	return store.IncidentReport{IncidentView: v, Jobs: []store.Job{{ID: 1, Kind: text, Queue: text, State: store.Discarded}},
		Deeds:   []store.IncidentDeed{{Action: text, Actor: text, Reason: text, Outcome: text, Operation: 4, Jobs: 2, First: at, Last: at}},
		Refused: []store.Transition{{At: at, JobID: 1, Type: store.TypeRejected, Op: store.Op(text), Reason: text, Worker: text}}}
}

// Whatever the texts hold, the report has the same headings, tables and cells.
func TestNoTextBreaksOutOfAReport(t *testing.T) {
	t.Parallel()
	shape := func(text string) string {
		var b bytes.Buffer
		if err := WriteIncidentReport(&b, hostileReport(text), FormatMarkdown); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for line := range strings.Lines(b.String()) {
			bare := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, "")
			switch {
			case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "| --- "):
				out.WriteString(line)
			case strings.HasPrefix(line, "|"):
				out.WriteString(strings.Repeat("|", strings.Count(bare, "|")) + "\n")
			case strings.HasPrefix(line, ">"):
				out.WriteString(">\n")
			case strings.TrimSpace(line) == "":
				out.WriteString("\n")
			default:
				out.WriteString("text\n")
			}
		}
		return out.String()
	}
	want := strings.Replace(shape("word"), "Incident 7: word", "Incident 7: X", 1)
	for _, text := range []string{"| a |\\| b |", "`", "```", "<!--", "</td></tr>", "\\", "a\\|b", "# x", "![x](http://x.test)", "\u202e\u0000"} {
		got := shape(text)
		title, rest, _ := strings.Cut(got, "\n")
		if !strings.HasPrefix(title, "# Incident 7: ") {
			t.Errorf("%q: the title is %q", text, title)
		}
		if "# Incident 7: X\n"+rest != want {
			t.Errorf("%q: the report has another shape:\n%s\nwant\n%s", text, got, want)
		}
	}
	if got := strings.Count(shape("a\n\n# b\n> c"), "#"); got != strings.Count(want, "#")+1 { // in the title, behind a backslash
		t.Errorf("lines of a text made %d headings", got)
	}
	var b bytes.Buffer
	if err := WriteIncidentReport(&b, hostileReport("\"\\\n</script>\x00"), FormatJSON); err != nil || !json.Valid(b.Bytes()) {
		t.Error("the report is not JSON", err)
	}
}
