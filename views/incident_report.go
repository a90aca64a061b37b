package views

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// The formats of an incident's report.
const (
	FormatMarkdown = "markdown"
	FormatJSON     = "json"
)

// IncidentReport is a report on an incident as programs read it.
type IncidentReport struct {
	MadeAt     time.Time           `json:"made_at"`
	ID         string              `json:"id"`
	State      string              `json:"state"`
	Severity   string              `json:"severity"`
	Rule       string              `json:"rule"`
	Title      string              `json:"title"`
	Scope      string              `json:"scope"` // empty for everything
	What       string              `json:"what"`
	Means      string              `json:"means"`
	Do         string              `json:"do"`
	OpenedAt   time.Time           `json:"opened_at"`
	FoundAt    time.Time           `json:"found_at"`
	ResolvedAt *time.Time          `json:"resolved_at"`
	Reopened   int                 `json:"reopened"`
	MergedInto *string             `json:"merged_into"`
	Merged     []string            `json:"merged"` // the incidents that are part of it
	Held       []reportHolder      `json:"held"`
	Timeline   []reportLine        `json:"timeline"` // oldest first
	Cut        bool                `json:"timeline_cut"`
	Jobs       reportJobs          `json:"jobs"`
	Deeds      []reportDeed        `json:"deeds"`
	Refused    []reportRefusal     `json:"refused"`
	Similar    []reportPredecessor `json:"similar"`
}

type reportHolder struct {
	By   string     `json:"by"`
	From time.Time  `json:"from"`
	To   *time.Time `json:"to"`
}

type reportLine struct {
	At       time.Time  `json:"at"`
	Incident *string    `json:"incident"` // another one's, where that is part of this one
	Action   *string    `json:"action"`   // what was done; null for a minute of the log
	Actor    *string    `json:"actor"`
	Reason   *string    `json:"reason"`
	Until    *time.Time `json:"until"`
	Type     *string    `json:"type"` // what the log holds of a minute; null for what was done
	N        *int64     `json:"n"`
}

type reportJobs struct {
	Since  *time.Time  `json:"since"` // from when on they are kept; null where none are
	Q      *string     `json:"q"`     // the search that finds them
	Total  int64       `json:"total"`
	Capped bool        `json:"capped"` // there may be more than total
	List   []reportJob `json:"list"`   // the first ones by id
}

type reportJob struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	Queue      string `json:"queue"`
	State      string `json:"state"`
	Generation int64  `json:"generation"`
	Attempts   int    `json:"attempts"`
}

type reportDeed struct {
	Action    string    `json:"action"`
	Actor     string    `json:"actor"`
	Reason    *string   `json:"reason"`
	Operation *string   `json:"operation"`
	Outcome   string    `json:"outcome"`
	Jobs      int64     `json:"jobs"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}

type reportRefusal struct {
	At         time.Time `json:"at"`
	Job        string    `json:"job_id"`
	Generation int64     `json:"generation"`
	Op         string    `json:"op"`
	Reason     string    `json:"reason"`
	Worker     string    `json:"worker"`
}

type reportPredecessor struct {
	ID         string     `json:"id"`
	OpenedAt   time.Time  `json:"opened_at"`
	ResolvedAt *time.Time `json:"resolved_at"`
	What       string     `json:"what"`
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func idOrNil(id int64) *string {
	if id == 0 {
		return nil
	}
	return orNil(decimal(id))
}

// IncidentReportOf is how a report is shown to programs.
func IncidentReportOf(r store.IncidentReport) IncidentReport {
	i, rule := r.Incident, ruleOf(r.Incident)
	out := IncidentReport{MadeAt: r.Now, ID: decimal(i.ID), State: string(i.State), Severity: i.Severity, Rule: i.Rule, Title: rule.Title, Scope: i.Scope,
		What: i.What, Means: rule.Means, Do: rule.Do, OpenedAt: i.OpenedAt, FoundAt: i.FoundAt, ResolvedAt: orNil(i.ResolvedAt), Reopened: i.Reopened,
		MergedInto: idOrNil(i.MergedInto), Merged: []string{}, Held: []reportHolder{}, Timeline: []reportLine{}, Cut: r.More, Deeds: []reportDeed{}, Refused: []reportRefusal{}, Similar: []reportPredecessor{},
		Jobs: reportJobs{Since: orNil(i.JobsSince), Q: orNil(i.JobsSearch()), Total: r.Touched.N, Capped: r.Touched.Capped, List: []reportJob{}}}
	for _, m := range r.Merged {
		out.Merged = append(out.Merged, decimal(m.ID))
	}
	for _, h := range r.Holders() {
		out.Held = append(out.Held, reportHolder{h.By, h.From, orNil(h.To)})
	}
	for _, l := range r.Line {
		line := reportLine{At: l.At, Action: orNil(string(l.Action)), Actor: orNil(l.Actor), Reason: orNil(l.Reason), Until: orNil(l.Until), Type: orNil(string(l.Type)), N: orNil(l.N)}
		if l.Of != i.ID {
			line.Incident = idOrNil(l.Of)
		}
		out.Timeline = append(out.Timeline, line)
	}
	for _, j := range r.Jobs {
		out.Jobs.List = append(out.Jobs.List, reportJob{decimal(j.ID), j.Kind, j.Queue, string(j.State), j.Generation, j.Attempts})
	}
	for _, d := range r.Deeds {
		out.Deeds = append(out.Deeds, reportDeed{d.Action, d.Actor, orNil(d.Reason), idOrNil(d.Operation), d.Outcome, d.Jobs, d.First, d.Last})
	}
	for _, t := range r.Refused {
		out.Refused = append(out.Refused, reportRefusal{t.At.UTC(), decimal(t.JobID), t.Generation, string(t.Op), t.Reason, t.Worker})
	}
	for _, s := range r.Similar {
		out.Similar = append(out.Similar, reportPredecessor{decimal(s.ID), s.OpenedAt, orNil(s.ResolvedAt), s.What})
	}
	return out
}

// WriteIncidentReport writes a report in a format, [FormatMarkdown] or
// [FormatJSON]. Nobody's words can break out of the Markdown: they stay words.
func WriteIncidentReport(w io.Writer, r store.IncidentReport, format string) error {
	if format == FormatJSON {
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(IncidentReportOf(r))
	}
	_, err := io.WriteString(w, incidentMarkdown(r))
	return err
}

func incidentMarkdown(r store.IncidentReport) string {
	var b strings.Builder
	i, rule := r.Incident, ruleOf(r.Incident)
	fmt.Fprintf(&b, "# Incident %d: %s\n\n%s\n\n", i.ID, markdown(rule.Title), quoted(i.What))
	facts := [][]string{
		{"Scope", markdown(scopeText(i))}, {"Severity", markdown(i.Severity)}, {"State", markdown(string(i.State))},
		{"Opened", reportTime(i.OpenedAt)}, {"Found last", reportTime(i.FoundAt)},
	}
	if !i.ResolvedAt.IsZero() {
		facts = append(facts, []string{"Resolved", reportTime(i.ResolvedAt) + ", after " + Span(i.ResolvedAt.Sub(i.OpenedAt))})
	}
	if i.Reopened > 0 {
		facts = append(facts, []string{"Opened again", Plural(int64(i.Reopened), "time")})
	}
	if i.MergedInto != 0 {
		facts = append(facts, []string{"Part of", "incident " + decimal(i.MergedInto)})
	}
	for _, m := range r.Merged {
		facts = append(facts, []string{"Holds", "incident " + decimal(m.ID) + ": " + markdown(ruleOf(m).Title+", "+scopeText(m))})
	}
	for _, h := range r.Holders() {
		to := "until now"
		if !h.To.IsZero() {
			to = "to " + reportTime(h.To)
		}
		facts = append(facts, []string{"Held by", markdown(h.By) + ", " + reportTime(h.From) + " " + to})
	}
	table(&b, []string{"Fact", "Value"}, facts)
	if rule.Means != "" {
		fmt.Fprintf(&b, "%s %s\n\n", markdown(rule.Means), markdown(rule.Do))
	}
	reportTimeline(&b, r)
	reportDeeds(&b, r)
	reportTouched(&b, r)
	reportRefusals(&b, r)
	reportSimilar(&b, r)
	fmt.Fprintf(&b, "Made at %s. All times are UTC, by the database's clock. Payloads, results and error texts are not part of it.\n", reportTime(r.Now))
	return b.String()
}

func reportTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func reportTimeline(b *strings.Builder, r store.IncidentReport) {
	b.WriteString("## Timeline\n\n")
	if r.More {
		b.WriteString("Earlier entries are left out.\n\n")
	}
	var rows [][]string
	for _, l := range r.Line {
		what, by := lineTitle(l), markdown(l.Actor)
		if l.Type != "" {
			by = "the log"
			what += " within a minute"
		}
		if l.Of != 0 && l.Of != r.Incident.ID {
			what += " (incident " + decimal(l.Of) + ")"
		}
		if !l.Until.IsZero() {
			what += " until " + reportTime(l.Until)
		}
		rows = append(rows, []string{reportTime(l.At), markdown(what), by, markdown(l.Reason)})
	}
	table(b, []string{"At", "What", "By", "Words"}, rows)
}

func reportDeeds(b *strings.Builder, r store.IncidentReport) {
	b.WriteString("## What was done with its jobs\n\n")
	if len(r.Deeds) == 0 {
		b.WriteString("Nothing by an operator.\n\n")
		return
	}
	var rows [][]string
	for _, d := range r.Deeds {
		by := markdown(d.Actor)
		if d.Operation != 0 {
			by += ", operation " + decimal(d.Operation)
		}
		rows = append(rows, []string{reportTime(d.First), reportTime(d.Last), markdown(d.Action + ", " + d.Outcome), Plural(d.Jobs, "job"), by, markdown(d.Reason)})
	}
	table(b, []string{"From", "To", "What", "Jobs", "By", "Words"}, rows)
}

func reportTouched(b *strings.Builder, r store.IncidentReport) {
	b.WriteString("## Jobs that it touched\n\n")
	i := r.Incident
	if i.JobsSince.IsZero() {
		b.WriteString("None are kept.")
		if i.Search != "" {
			b.WriteString(" The search " + markdown(i.Search) + " finds those of its rule as they are now.")
		}
		b.WriteString("\n\n")
		return
	}
	fmt.Fprintf(b, "%s since %s", CountText(r.Touched), reportTime(i.JobsSince))
	if int64(len(r.Jobs)) < r.Touched.N {
		fmt.Fprintf(b, ", of which these are the first %s that are still there; the search incident:%d finds all", Grouped(int64(len(r.Jobs))), i.ID)
	}
	b.WriteString(". They are told as they are now.\n\n")
	var rows [][]string
	for _, j := range r.Jobs {
		rows = append(rows, []string{decimal(j.ID), markdown(j.Kind), markdown(j.Queue), string(j.State), decimal(j.Generation), fmt.Sprintf("%d of %d", j.Attempts, j.MaxAttempts)})
	}
	if len(rows) > 0 {
		table(b, []string{"Job", "Kind", "Queue", "State", "Generation", "Attempts"}, rows)
	}
}

func reportRefusals(b *strings.Builder, r store.IncidentReport) {
	if len(r.Refused) == 0 {
		return
	}
	b.WriteString("## Writes of its attempts that were refused\n\n")
	var rows [][]string
	for _, t := range r.Refused {
		rows = append(rows, []string{reportTime(t.At), decimal(t.JobID), decimal(t.Generation), markdown(string(t.Op)), markdown(t.Reason), markdown(t.Worker)})
	}
	table(b, []string{"At", "Job", "Generation", "Write", "Refused as", "Worker"}, rows)
}

func reportSimilar(b *strings.Builder, r store.IncidentReport) {
	if len(r.Similar) == 0 {
		return
	}
	b.WriteString("## The same before\n\n")
	var rows [][]string
	for _, s := range r.Similar {
		ended := ""
		if !s.ResolvedAt.IsZero() {
			ended = reportTime(s.ResolvedAt)
		}
		rows = append(rows, []string{decimal(s.ID), reportTime(s.OpenedAt), ended, markdown(s.What)})
	}
	table(b, []string{"Incident", "Opened", "Resolved", "What"}, rows)
}
