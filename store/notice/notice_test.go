package notice_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/notice"
)

func parse(t *testing.T, text string) notice.Rule {
	t.Helper()
	r, err := notice.Parse(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestARuleIsReadAndABadFieldIsNamed(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"target": "room"}`)
	if r.Format != notice.JSON || r.Severity != detect.Medium || r.Every != time.Minute || r.Quiet != nil {
		t.Errorf("the defaults are %+v", r)
	}
	r = parse(t, `{"target": "pager", "format": "pagerduty", "severity": "low", "quiet": {"from": "22:00", "to": "07:30", "zone": "Europe/Berlin"}}`)
	if r.Every != 0 || r.Quiet.Severity != detect.High || r.Quiet.String() != "22:00 to 07:30 Europe/Berlin" {
		t.Errorf("%+v %v", r, r.Quiet)
	}
	for text, field := range map[string]string{
		`{}`:                                  "target",
		`{"target": 7}`:                       "target",
		`{"target": "a", "to": 1}`:            "",
		`[]`:                                  "",
		`{"target": "a", "format": "fax"}`:    "format",
		`{"target": "a", "severity": "dire"}`: "severity",
		`{"target": "a", "every": "soon"}`:    "every",
		`{"target": "a", "every": "-1m"}`:     "every",
		`{"target": "a", "every": "25h"}`:     "every",
		`{"target": "a", "quiet": {"from": "25:00", "to": "07:00"}}`:                               "quiet.from",
		`{"target": "a", "quiet": {"from": "22:00"}}`:                                              "quiet.to",
		`{"target": "a", "quiet": {"from": "22:00", "to": "22:00"}}`:                               "quiet.to",
		`{"target": "a", "quiet": {"from": "22:00", "to": "7:00", "zone": "Atlantis/Capital"}}`:    "quiet.zone",
		`{"target": "a", "quiet": {"from": "22:00", "to": "07:00", "zone": "../../etc/passwd"}}`:   "quiet.zone",
		`{"target": "a", "quiet": {"from": "22:00", "to": "07:00", "severity": "deafening"}}`:      "quiet.severity",
		`{"target": "a", "quiet": {"from": "22:00", "to": "07:00", "zone": "UTC", "severity": 1}}`: "quiet.severity",
	} {
		var invalid *store.InvalidError
		if _, err := notice.Parse(json.RawMessage(text)); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v, want the field %q", text, err, field)
		}
	}
}

func TestQuietHoursGoOverMidnightAndByTheirZone(t *testing.T) {
	t.Parallel()
	night := parse(t, `{"target": "a", "severity": "low", "quiet": {"from": "22:00", "to": "07:00", "zone": "Europe/Berlin"}}`)
	lunch := parse(t, `{"target": "a", "severity": "high", "quiet": {"from": "12:00", "to": "13:00", "severity": "medium"}}`)
	for at, want := range map[string]struct{ night, lunch string }{
		"2026-07-01T19:59:00Z": {"low medium high", "high"}, // 21:59 in summer
		"2026-07-01T20:00:00Z": {"high", "high"},
		"2026-01-01T20:30:00Z": {"low medium high", "high"}, // 21:30 in winter
		"2026-01-01T05:59:59Z": {"high", "high"},
		"2026-01-01T06:00:00Z": {"low medium high", "high"},
		"2026-01-01T12:30:00Z": {"low medium high", "high"}, // never more than at other hours
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(night.At(now, "").Severities, " "); got != want.night {
			t.Errorf("by night at %s: %s, want %s", at, got, want.night)
		}
		if got := strings.Join(lunch.At(now, "").Severities, " "); got != want.lunch {
			t.Errorf("at noon at %s: %s, want %s", at, got, want.lunch)
		}
	}
}

var (
	at   = time.Date(2026, 3, 9, 3, 12, 0, 0, time.UTC)
	wild = store.Incident{ID: 12, State: store.IncidentOpen, Severity: "high", Rule: "failure-rate", Scope: `kind <!channel>&"`, What: "12 of 12 attempts of kind <!channel>&\" failed\n*within* 5 minutes.", OpenedAt: at}
)

func body(t *testing.T, format, console string, all ...store.Notice) string {
	t.Helper()
	rule := parse(t, `{"target": "a", "format": "`+format+`"}`).At(at, console)
	if want := map[bool]int{true: 1, false: 50}[format == "pagerduty"]; rule.Most != want || rule.OpenFirst != (want == 1) {
		t.Errorf("%s tells of %d at once, want %d; as open first: %v", format, rule.Most, want, rule.OpenFirst)
	}
	out, err := rule.Body(at, all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAMessageSaysWhatIsWrongSinceWhenAndWhoHasIt(t *testing.T) {
	t.Parallel()
	again, taken, joined, over, long := wild, wild, wild, wild, wild
	again.Reopened = 1
	taken.State, taken.Owner = store.IncidentAcknowledged, "ada <b>"
	joined.State, joined.MergedInto = store.IncidentResolved, 7
	over.State = store.IncidentResolved
	over.Rule = "of-tomorrow"
	long.What = strings.Repeat("ä", 3000)
	const console = "https://fenceline.example/ops"

	var m notice.Message
	if err := json.Unmarshal([]byte(body(t, "json", console, store.Notice{Incident: wild}, store.Notice{Incident: taken, Was: "open"}, store.Notice{Incident: joined, Was: "open"})), &m); err != nil {
		t.Fatal(err)
	}
	if m.Source != console || !m.At.Equal(at) || m.Test || len(m.Incidents) != 3 {
		t.Fatalf("%+v", m)
	}
	first, second, third := m.Incidents[0], m.Incidents[1], m.Incidents[2]
	if first.ID != "12" || first.Was != nil || first.What != wild.What || first.Title != "More attempts fail than before" || first.Do == "" || *first.URL != console+"/incidents/12" || first.Owner != nil {
		t.Errorf("%+v", first)
	}
	if second.State != "acknowledged" || *second.Was != "open" || *second.Owner != "ada <b>" || *third.MergedInto != "7" {
		t.Errorf("%+v %+v", second, third)
	}

	var s struct{ Text string }
	if err := json.Unmarshal([]byte(body(t, "slack", console, store.Notice{Incident: wild}, store.Notice{Incident: again, Was: "resolved"}, store.Notice{Incident: taken, Was: "open"},
		store.Notice{Incident: joined, Was: "open"}, store.Notice{Incident: over, Was: "open"})), &s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(s.Text, "\n")
	for n, want := range []string{
		`<https://fenceline.example/ops/incidents/12|Incident 12>, high, *open*: More attempts fail than before. 12 of 12 attempts of kind &lt;!channel&gt;&amp;" failed *within* 5 minutes. Look at the newest`,
		"*open again*", "*acknowledged by ada &lt;b&gt;*", "*part of incident 7 now*", "*resolved*: of-tomorrow. 12 of 12",
	} {
		if n >= len(lines) || !strings.Contains(lines[n], want) || strings.Contains(lines[n], "<!") {
			t.Errorf("line %d of %q does not say %q", n, lines, want)
		}
	}
	if strings.Contains(body(t, "slack", "", store.Notice{Incident: wild}), "|") {
		t.Error("a link to nowhere")
	}

	for _, c := range []struct {
		i                     store.Incident
		action, sev, mustHold string
	}{{wild, "trigger", "critical", `"href":"https://fenceline.example/ops/incidents/12"`}, {taken, "acknowledge", "critical", "custom_details"}, {over, "resolve", "", `"client":"Fenceline"`}, {long, "trigger", "critical", "…"}} {
		text := body(t, "pagerduty", console, store.Notice{Incident: c.i})
		var e struct {
			Action  string `json:"event_action"`
			Key     string `json:"dedup_key"`
			Payload struct{ Summary, Severity, Source string }
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if e.Action != c.action || e.Key != console+" incident 12" || e.Payload.Severity != c.sev || len([]rune(e.Payload.Summary)) > 1024 || !strings.Contains(text, c.mustHold) {
			t.Errorf("%s", text)
		}
	}
}

func TestATestSaysThatItIsOne(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"test":true`, "slack": "A test by ada &lt;3", "pagerduty": `"severity":"info"`} {
		out, err := parse(t, `{"target": "a", "format": "`+format+`"}`).Test(at, "", "ada <3")
		if err != nil || !strings.Contains(string(out), strings.ReplaceAll(want, "&", `\u0026`)) {
			t.Errorf("%s: %s %v", format, out, err)
		}
	}
}
