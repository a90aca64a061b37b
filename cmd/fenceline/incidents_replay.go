package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/views"
)

type incidentsReplayCmd struct {
	File string `arg:"" help:"A report as JSON or a recorded log, - for standard input."`
	thresholds
}

type eventJSON struct {
	At       time.Time       `json:"at"`
	Event    string          `json:"event"` // opened or resolved
	Rule     string          `json:"rule"`
	Scope    string          `json:"scope"`
	Severity detect.Severity `json:"severity"`
	What     string          `json:"what"`
}

// Run replays a file: a report is told, over a recorded log the rules are run.
func (c *incidentsReplayCmd) Run(a *app) error {
	in := a.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	file := bufio.NewReader(in)
	if isReport(file) {
		r, err := views.ReadIncidentReport(file)
		var invalid *store.InvalidError
		if errors.As(err, &invalid) {
			return usagef("%s: %w", oneLine(c.File), invalid)
		}
		if err != nil {
			return err
		}
		return a.tellReport(r)
	}
	log, err := detect.Read(file)
	if err != nil {
		return err
	}
	return a.tellEvents(detect.Replay(log, c.read()), len(log))
}

// isReport looks at the beginning of a file: each line of a recorded log is an
// object of its own, which begins with the transition's id, or with its time where
// somebody has sorted the fields.
func isReport(file *bufio.Reader) bool {
	head, _ := file.Peek(512)
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(head, []byte("\ufeff"))))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		return len(bytes.TrimSpace(head)) > 0 && err == nil
	}
	first, err := dec.Token()
	return err != nil || first != "id" && first != "at" && first != "attempt_id"
}

func (a *app) tellEvents(all []detect.Event, transitions int) error {
	events := []eventJSON{}
	for _, e := range all {
		what := "resolved"
		if e.Opened {
			what = "opened"
		}
		events = append(events, eventJSON{e.At.UTC(), what, e.Finding.Rule, e.Finding.Scope, e.Finding.Severity, e.Finding.What})
	}
	if a.json {
		return a.printJSON(map[string]any{"transitions": transitions, "events": events})
	}
	for _, e := range events {
		if err := a.printf("%s  %-8s  %-6s  %s: %s\n", e.At.Format("2006-01-02 15:04:05"), e.Event, e.Severity, ruleScope(e.Rule, e.Scope), oneLine(e.What)); err != nil {
			return err
		}
	}
	return a.printf("%s, %s.\n", counted(int64(transitions), "transition"), counted(int64(len(events)), "event"))
}

// ruleScope names a rule and what it speaks of, which may be everything.
func ruleScope(rule, scope string) string {
	if scope == "" {
		return oneLine(rule)
	}
	return oneLine(rule) + " " + oneLine(scope)
}

// tellReport prints a report that was read as its incident's page would show it.
func (a *app) tellReport(r store.IncidentReport) error {
	if a.json {
		return a.printJSON(views.IncidentReportOf(r))
	}
	t := views.TellIncident(r)
	out := bufio.NewWriter(a.out)
	say := func(texts ...string) {
		for _, text := range texts {
			if text != "" {
				io.WriteString(out, paragraph(text)+"\n\n")
			}
		}
	}
	say(t.Title, t.What, t.Means)
	if err := printTable(out, t.Facts.Head, t.Facts.Rows); err != nil {
		return err
	}
	say("", "\n"+t.ChartsTitle, t.Around)
	charts := [][]string{}
	for _, c := range t.Charts {
		charts = append(charts, []string{c.Name, views.Grouped(c.Total), bars(c.Steps)})
	}
	if err := printTable(out, []string{"Chart", "Number", "Over time"}, charts); err != nil {
		return err
	}
	for _, s := range t.Sections {
		say("\n"+s.Title, s.Note)
		if len(s.Rows) == 0 {
			continue
		}
		if err := printTable(out, s.Head, s.Rows); err != nil {
			return err
		}
	}
	say("\n" + t.Made)
	return out.Flush()
}

// barSigns are bars by their height.
var barSigns = []rune("▁▂▃▄▅▆▇█")

// bars draws numbers as bars, the highest one of full height; 0 is a point.
func bars(all []int64) string {
	most := int64(1)
	for _, n := range all {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range all {
		if n <= 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(barSigns[min(len(barSigns)-1, int(float64(n)/float64(most)*float64(len(barSigns))))])
	}
	return b.String()
}
