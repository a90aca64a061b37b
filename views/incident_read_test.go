package views

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// sampleReport is a report with everything in it, and whatever anybody may write.
func sampleReport() store.IncidentReport {
	r := store.IncidentReport{IncidentView: sampleIncident(sampleIncidents()[0]), Trend: sampleTrend()}
	i := &r.Incident
	i.Kind, i.Queue, i.JobsSince, i.OwnedUntil, i.SnoozedUntil, i.MergedInto = hostile[1], hostile[0], i.OpenedAt, sampleNow, sampleNow.Add(time.Hour), 4
	r.Trend.Step = 5 * time.Minute
	for n := range r.Trend.Ticks {
		r.Trend.Ticks[n].At = sampleNow.Add(time.Duration(n-60) * r.Trend.Step)
	}
	r.Jobs = sampleJobs(3)
	for n, words := range hostile {
		r.Deeds = append(r.Deeds, store.IncidentDeed{Action: "requeue", Actor: words, Reason: words, Operation: int64(n), Outcome: "done", Jobs: 7, First: i.OpenedAt, Last: sampleNow})
		r.Refused = append(r.Refused, store.Transition{At: i.OpenedAt, JobID: int64(n + 1), Generation: 3, Op: store.OpComplete, Reason: "superseded", Worker: words})
	}
	return r
}

func written(t testing.TB, r store.IncidentReport) string {
	t.Helper()
	var b strings.Builder
	if err := WriteIncidentReport(&b, r, FormatJSON); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func replayedOn(t testing.TB, p ReplayPage) string {
	t.Helper()
	var b bytes.Buffer
	if err := Replay(p).Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var timelinePart = regexp.MustCompile(`(?s)<section id="incident-timeline".*?</section>`)
var leads = regexp.MustCompile(`</?(a|span)\b[^>]*>`)

// timelineOf is the timeline of a page without what leads elsewhere.
func timelineOf(t testing.TB, page string) string {
	t.Helper()
	part := timelinePart.FindString(page)
	if part == "" {
		t.Fatal("the page has no timeline")
	}
	return leads.ReplaceAllString(part, "")
}

func TestAReportThatIsReadAgainTellsTheSame(t *testing.T) {
	r := sampleReport()
	first := written(t, r)
	again, err := ReadIncidentReport(strings.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if second := written(t, again); second != first {
		t.Errorf("it is another one:\n%s", second)
	}
	told, was := TellIncident(again), TellIncident(r)
	for n := range told.Sections {
		if a, b := fmt.Sprint(told.Sections[n]), fmt.Sprint(was.Sections[n]); a != b {
			t.Errorf("%s\nwas\n%s", a, b)
		}
	}
	var live bytes.Buffer
	if err := Incident(IncidentPage{Frame: frame(), View: r.IncidentView}).Render(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	page := replayedOn(t, ReplayPage{Frame: frame(), Report: &again})
	if a, b := timelineOf(t, page), timelineOf(t, live.String()); a != b {
		t.Errorf("the timeline of the file differs from the live one:\n%s\n%s", a, b)
	}
	inside := page[strings.Index(page, `id="replay-note"`):strings.Index(page, `<dialog`)]
	if strings.Contains(inside, "<a ") || strings.Contains(inside, "<form") {
		t.Error("what a file says leads to what this console holds")
	}
	for _, c := range told.Charts {
		if c.SVG == "" || !strings.Contains(page, c.Said) {
			t.Errorf("the page does not draw %s", c.Name)
		}
	}
	var markdown strings.Builder
	if err := WriteIncidentReport(&markdown, r, FormatMarkdown); err != nil || strings.Count(markdown.String(), "](data:image/svg+xml;base64,") != len(trendLines) {
		t.Errorf("the Markdown does not hold every chart: %v", err)
	}
}

// The most that a report can hold, and the worst that its words can become in JSON.
func TestAReportOfManyLongNotesCanBeReadAgainAndSaysWhatIsCut(t *testing.T) {
	for what, note := range map[string]string{"plain": "x", "controls": "\x01", "mixed": "é\x02\"\n<한"} {
		r := sampleReport()
		short := "looked at the host"
		long := strings.Repeat(note, store.MaxReason/len(note))
		r.Line, r.Deeds = nil, nil
		for n := range 1000 {
			line := store.IncidentLine{At: sampleNow, Of: r.Incident.ID, Action: store.IncidentNote, Actor: "ada", Reason: long}
			if n%3 == 0 {
				line.Reason = short
			}
			r.Line = append(r.Line, line)
		}
		for range 100 {
			r.Deeds = append(r.Deeds, store.IncidentDeed{Action: "requeue", Actor: "ada", Reason: long, Outcome: "done", Jobs: 1, First: sampleNow, Last: sampleNow})
		}
		whole := written(t, r)
		if len(whole) > MaxIncidentReport {
			t.Fatalf("%s: %d bytes", what, len(whole))
		}
		again, err := ReadIncidentReport(strings.NewReader(whole))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if second := written(t, again); second != whole {
			t.Errorf("%s: written again it is another one", what)
		}
		cut := 0
		for n, l := range again.Line {
			kept, said, is := strings.Cut(l.Reason, "… [cut: ")
			switch {
			case n%3 == 0 && l.Reason != short:
				t.Errorf("%s: a short note became %q", what, l.Reason)
			case is && (!strings.HasPrefix(long, kept) || len(kept) < 500 || !strings.HasSuffix(said, " bytes more are left out of this report]")):
				t.Errorf("%s: %d bytes are kept, and it says %q", what, len(kept), said)
			case !is && n%3 != 0 && l.Reason != long:
				t.Errorf("%s: a note is cut and does not say so", what)
			case is:
				cut++
			}
		}
		if cut == 0 {
			t.Errorf("%s: no note is cut", what)
		}
		if !strings.HasSuffix(r.Line[1].Reason, note) || len(r.Line[1].Reason) < len(long) {
			t.Errorf("%s: what was to be written is changed", what)
		}
		var markdown strings.Builder
		if err := WriteIncidentReport(&markdown, r, FormatMarkdown); err != nil || markdown.Len() > 4*MaxIncidentReport {
			t.Errorf("%s: %d bytes of Markdown, %v", what, markdown.Len(), err)
		}
	}
}

func TestAFileThatIsNoReportIsToldWhy(t *testing.T) {
	whole := written(t, sampleReport())
	with := func(change func(map[string]any)) string {
		dec, m := json.NewDecoder(strings.NewReader(whole)), map[string]any{}
		dec.UseNumber()
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		change(m)
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	set := func(name string, value any) string { return with(func(m map[string]any) { m[name] = value }) }
	line := func(n int, name string, value any) string {
		return with(func(m map[string]any) { m["timeline"].([]any)[n].(map[string]any)[name] = value })
	}
	for field, file := range map[string]string{
		"file":                             "",
		"file ":                            "[]",
		"file  ":                           whole[:len(whole)/2],
		"file   ":                          whole + "{}",
		"file    ":                         "{\"a\":\"\xff\"}",
		"file     ":                        strings.Repeat(" ", MaxIncidentReport+1),
		"file      ":                       `{"` + strings.Repeat("x", 4000) + `":1}`,
		"report":                           set("report", 2),
		"report ":                          with(func(m map[string]any) { delete(m, "report") }),
		"id":                               set("id", "007"),
		"id ":                              set("id", 7),
		"state":                            set("state", "lost"),
		"severity":                         set("severity", "dire"),
		"rule":                             set("rule", ""),
		"resolved_at":                      set("resolved_at", "2026-11-03T10:00:00Z"),
		"opened_at":                        set("opened_at", "yesterday"),
		"found_at":                         set("found_at", "0001-01-01T00:00:00Z"),
		"made_at":                          set("made_at", nil),
		"reopened":                         set("reopened", -1),
		"merged[1]":                        set("merged", []any{"1", "x"}),
		"merged":                           set("merged", make([]string, 5000)),
		"timeline":                         set("timeline", map[string]any{}),
		"timeline[2].n":                    line(2, "n", 0),
		"timeline[2].n ":                   line(2, "n", 1.5),
		"timeline[2].n  ":                  line(2, "n", json.Number("1e4")),
		"timeline[4].at":                   line(4, "at", "1999-01-01T00:00:00Z"),
		"timeline[4].action":               line(4, "action", nil),
		"timeline[0].reason":               line(0, "reason", []int{}),
		"timeline[0]":                      line(0, "colour", "red"),
		"timeline[8].operation":            line(8, "operation", "4"),
		"timeline[8].operation.id ":        line(8, "operation", map[string]any{}),
		"timeline[0].operation":            line(0, "operation", map[string]any{"id": "4", "does": "requeue", "total": 7, "dealt_with": 7, "changed": 7, "pace": nil}),
		"timeline[8].operation.id":         line(8, "operation", map[string]any{"id": "0", "does": "requeue", "total": 7, "dealt_with": 7, "changed": 7, "pace": nil}),
		"timeline[8].operation.does":       line(8, "operation", map[string]any{"id": "4", "does": "erase", "total": 7, "dealt_with": 7, "changed": 7, "pace": nil}),
		"timeline[8].operation.pace":       line(8, "operation", map[string]any{"id": "4", "does": "requeue", "total": 7, "dealt_with": 7, "changed": 7, "pace": -1}),
		"timeline[8].operation.dealt_with": line(8, "operation", map[string]any{"id": "4", "does": "requeue", "total": 7, "dealt_with": 8, "changed": 7, "pace": nil}),
		"timeline[8].operation.changed":    line(8, "operation", map[string]any{"id": "4", "does": "requeue", "total": 7, "dealt_with": 6, "changed": 7, "pace": nil}),
		"timeline[5].incident":             line(5, "incident", "0"),
		"charts.step_seconds":              with(func(m map[string]any) { m["charts"].(map[string]any)["step_seconds"] = 61 }),
		"charts.steps[1].at":               with(func(m map[string]any) { m["charts"].(map[string]any)["step_seconds"] = 600 }),
		"charts.steps": with(func(m map[string]any) {
			c := m["charts"].(map[string]any)
			c["steps"] = slices.Repeat(c["steps"].([]any), 10)
		}),
		"charts.steps[0]": with(func(m map[string]any) { m["charts"].(map[string]any)["steps"] = []any{nil} }),
		"jobs.list[0].state": with(func(m map[string]any) {
			m["jobs"].(map[string]any)["list"].([]any)[0].(map[string]any)["state"] = "gone"
		}),
		"jobs.capped":       with(func(m map[string]any) { m["jobs"].(map[string]any)["capped"] = "no" }),
		"deeds[0].action":   with(func(m map[string]any) { m["deeds"].([]any)[0].(map[string]any)["action"] = "" }),
		"refused[3].job_id": with(func(m map[string]any) { m["refused"].([]any)[3].(map[string]any)["job_id"] = "-1" }),
		"similar[0].id":     with(func(m map[string]any) { m["similar"].([]any)[0].(map[string]any)["id"] = "" }),
		"severity ":         strings.Replace(whole, `"severity": "high"`, `"severity": "high", "severity": "low"`, 1),
	} {
		_, err := ReadIncidentReport(strings.NewReader(file))
		var invalid *store.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != strings.TrimRight(field, " ") || invalid.Message == "" || len(err.Error()) > 300 {
			t.Errorf("%q: %v", field, err)
		}
	}
	if _, err := ReadIncidentReport(io.MultiReader(strings.NewReader("{"), brokenFile{})); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Error(err)
	}
}

type brokenFile struct{}

func (brokenFile) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// FuzzReadIncidentReport holds the import of reports: whatever comes, it is told
// which field is wrong, or it is a report that can be shown and exported again to
// the same bytes.
func FuzzReadIncidentReport(f *testing.F) {
	small := sampleReport()
	small.Trend.Ticks, small.Jobs, small.Deeds, small.Refused, small.Line = small.Trend.Ticks[:2], small.Jobs[:1], small.Deeds[:2], small.Refused[:2], append(small.Line[:5], small.Line[8:10]...)
	whole := written(f, small)
	for _, text := range []string{whole, whole[:len(whole)-3], "", "{}", "[]", "null", `{"report":1}`, "\ufeff" + whole, "\xff", `{"report":1e400}`, `{"timeline":[{"at":""}]}`,
		strings.Replace(whole, "2026", "0000", 1), strings.Replace(whole, `"n": 1`, `"n": 999999999999999999999`, 1), strings.Repeat("[", 3000), `{"a":` + strings.Repeat(`{"a":`, 3000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ReadIncidentReport(strings.NewReader(text))
		var invalid *store.InvalidError
		if errors.As(err, &invalid) {
			if invalid.Field == "" || invalid.Message == "" {
				t.Fatalf("%+v", invalid)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		replayedOn(t, ReplayPage{Frame: frame(), Report: &r})
		first := written(t, r)
		again, err := ReadIncidentReport(strings.NewReader(first))
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second := written(t, again); second != first {
			t.Fatalf("%s\nwas\n%s", second, first)
		}
	})
}

func TestAnIncidentLeadsToWhereItsRuleSaysToLook(t *testing.T) {
	i := sampleIncidents()[0]
	i.Job, i.Kind, i.Queue = 7, "a/b", "mail"
	p := IncidentPage{Frame: frame(TopicIncident + "9"), View: sampleIncident(i)}
	page := render(t, Incident(p))
	for _, want := range []string{p.URLs.Job(7), p.URLs.Kind("a/b"), p.URLs.Queue("mail"), "Where to look"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not lead to %q", want)
		}
	}
	p.Offline = true
	if leads := p.leads(); len(leads) != 0 {
		t.Errorf("a report that is read elsewhere leads to %v", leads)
	}
}
