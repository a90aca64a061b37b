package views

import (
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
)

// IncidentTelling is a report on an incident as people read it, in whatever is
// around it: Markdown, a terminal or a page. Texts are as they were written, with
// the words of anybody in them; whoever shows them makes them fit for its place.
type IncidentTelling struct {
	Title       string
	What        string // one line or several
	Means       string // what the rule means and what to do; empty for a rule that is not known
	Facts       ReportSection
	ChartsTitle string
	Around      string // of what the charts tell
	Trend       store.Trend
	Charts      []ReportChart
	Sections    []ReportSection // the first one is the timeline
	Made        string
}

// ReportSection is a table of a report.
type ReportSection struct {
	Title string
	Note  string // before the table; empty for none
	Head  []string
	Rows  [][]string
}

// ReportChart is a chart of a report: its name, the number of each step, the same
// in words, and drawn.
type ReportChart struct {
	Name, Said, SVG string
	Total           int64
	Steps           []int64
}

// TellIncident tells a report.
func TellIncident(r store.IncidentReport) IncidentTelling {
	i, rule := r.Incident, ruleOf(r.Incident)
	t := IncidentTelling{Title: "Incident " + decimal(i.ID) + ": " + rule.Title, What: i.What, Facts: reportFacts(r),
		ChartsTitle: "What happened around it", Around: aroundText(r), Trend: r.Trend, Charts: reportCharted(r.Trend),
		Made: "Made at " + reportTime(r.Now) + ", as all times by the database's clock. Payloads, results and error texts are not part of it."}
	if rule.Means != "" {
		t.Means = rule.Means + " " + rule.Do
	}
	for _, s := range []ReportSection{reportTimeline(r), reportDone(r), reportTouched(r), reportRefusals(r), reportSimilar(r)} {
		if s.Note != "" || len(s.Rows) > 0 {
			t.Sections = append(t.Sections, s)
		}
	}
	return t
}

func reportTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func reportFacts(r store.IncidentReport) ReportSection {
	i := r.Incident
	s := ReportSection{Head: []string{"Fact", "Value"}}
	fact := func(name, value string) { s.Rows = append(s.Rows, []string{name, value}) }
	fact("Scope", scopeText(i))
	fact("Severity", i.Severity)
	fact("State", string(i.State))
	fact("Opened", reportTime(i.OpenedAt))
	fact("Found last", reportTime(i.FoundAt))
	if !i.ResolvedAt.IsZero() {
		fact("Resolved", reportTime(i.ResolvedAt)+", after "+Span(i.ResolvedAt.Sub(i.OpenedAt)))
	}
	if i.Reopened > 0 {
		fact("Opened again", Plural(int64(i.Reopened), "time"))
	}
	if i.Snoozed(r.Now) {
		fact("Snoozed until", reportTime(i.SnoozedUntil))
	}
	if i.MergedInto != 0 {
		fact("Part of", "incident "+decimal(i.MergedInto))
	}
	for _, m := range r.Merged {
		fact("Holds", "incident "+decimal(m.ID)+mergedText(m))
	}
	for _, h := range r.Holders() {
		to := "until now"
		if !h.To.IsZero() {
			to = "to " + reportTime(h.To)
		}
		fact("Held by", h.By+", "+reportTime(h.From)+" "+to)
	}
	return s
}

// mergedText says what an incident is that is part of another one; a report that
// was read again knows its id only.
func mergedText(m store.Incident) string {
	if m.Rule == "" {
		return ""
	}
	return ": " + ruleOf(m).Title + ", " + scopeText(m)
}

func reportCharted(t store.Trend) (out []ReportChart) {
	for _, l := range trendLines {
		c := ReportChart{Name: l.Name, Said: l.saidOf(t), SVG: l.svg(t), Total: l.total(t)}
		for _, k := range t.Ticks {
			c.Steps = append(c.Steps, l.Of(k))
		}
		out = append(out, c)
	}
	return out
}

// aroundText says of what the charts tell.
func aroundText(r store.IncidentReport) string {
	of := "In all queues but the drill’s"
	if r.Incident.Kind != "" || r.Incident.Queue != "" {
		of = "In the kinds and queues of its evidence"
	}
	if note := trendNote(r.Trend); note != "" {
		of += " (" + note + ")"
	}
	return of + ", " + stretchText(r.Trend) + "."
}

func reportTimeline(r store.IncidentReport) ReportSection {
	s := ReportSection{Title: "Timeline", Head: []string{"At", "What", "By", "Words"}}
	if r.More {
		s.Note = "Earlier entries are left out."
	}
	for _, l := range r.Line {
		what, by := lineTitle(l), l.Actor
		if l.Type != "" {
			by = "the log"
			what += " within a minute"
		}
		if l.Operation.ID != 0 {
			what += " (operation " + decimal(l.Operation.ID) + ")"
		}
		if l.Of != 0 && l.Of != r.Incident.ID {
			what += " (incident " + decimal(l.Of) + ")"
		}
		if !l.Until.IsZero() {
			what += " until " + reportTime(l.Until)
		}
		s.Rows = append(s.Rows, []string{reportTime(l.At), what, by, l.Reason})
	}
	return s
}

func reportDone(r store.IncidentReport) ReportSection {
	s := ReportSection{Title: "What was done with its jobs", Head: []string{"From", "To", "What", "Jobs", "By", "Words"}}
	if len(r.Deeds) == 0 {
		s.Note = "Nothing by an operator."
	}
	for _, d := range r.Deeds {
		by := d.Actor
		if d.Operation != 0 {
			by += ", operation " + decimal(d.Operation)
		}
		s.Rows = append(s.Rows, []string{reportTime(d.First), reportTime(d.Last), d.Action + ", " + d.Outcome, Plural(d.Jobs, "job"), by, d.Reason})
	}
	return s
}

func reportTouched(r store.IncidentReport) ReportSection {
	i := r.Incident
	s := ReportSection{Title: "Jobs that it touched", Head: []string{"Job", "Kind", "Queue", "State", "Generation", "Attempts"}}
	if i.JobsSince.IsZero() {
		s.Note = "None are kept."
		if i.Search != "" {
			s.Note += " The search " + i.Search + " finds those of its rule as they are now."
		}
		return s
	}
	s.Note = CountText(r.Touched) + " since " + reportTime(i.JobsSince)
	if int64(len(r.Jobs)) < r.Touched.N {
		s.Note += fmt.Sprintf(", of which these are the first %s that are still there; the search incident:%d finds all", Grouped(int64(len(r.Jobs))), i.ID)
	}
	s.Note += ". They are told as they were when it was made."
	for _, j := range r.Jobs {
		s.Rows = append(s.Rows, []string{decimal(j.ID), j.Kind, j.Queue, string(j.State), decimal(j.Generation), fmt.Sprintf("%d of %d", j.Attempts, j.MaxAttempts)})
	}
	return s
}

func reportRefusals(r store.IncidentReport) ReportSection {
	s := ReportSection{Title: "Writes of its attempts that were refused", Head: []string{"At", "Job", "Generation", "Write", "Refused as", "Worker"}}
	for _, t := range r.Refused {
		s.Rows = append(s.Rows, []string{reportTime(t.At), decimal(t.JobID), decimal(t.Generation), string(t.Op), t.Reason, t.Worker})
	}
	return s
}

func reportSimilar(r store.IncidentReport) ReportSection {
	s := ReportSection{Title: "The same before", Head: []string{"Incident", "Opened", "Resolved", "What"}}
	for _, i := range r.Similar {
		ended := ""
		if !i.ResolvedAt.IsZero() {
			ended = reportTime(i.ResolvedAt)
		}
		s.Rows = append(s.Rows, []string{decimal(i.ID), reportTime(i.OpenedAt), ended, i.What})
	}
	return s
}
