package views

import (
	"encoding/base64"
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

// reportVersion is the version of the reports that this program writes and reads.
const reportVersion = 1

// IncidentReport is a report on an incident as programs read it. What a list may
// hold at most when it is read stands behind it.
type IncidentReport struct {
	Version      int                 `json:"report"` // of its form
	MadeAt       time.Time           `json:"made_at"`
	ID           string              `json:"id"`
	State        string              `json:"state"`
	Severity     string              `json:"severity"`
	Rule         string              `json:"rule"`
	Title        string              `json:"title"`
	Scope        string              `json:"scope"` // empty for everything
	Kind         string              `json:"kind"`  // of its evidence; empty for any
	Queue        string              `json:"queue"`
	What         string              `json:"what"`
	Means        string              `json:"means"`
	Do           string              `json:"do"`
	OpenedAt     time.Time           `json:"opened_at"`
	FoundAt      time.Time           `json:"found_at"`
	ResolvedAt   *time.Time          `json:"resolved_at"`
	Owner        *string             `json:"owner"` // who acknowledged it last
	OwnedUntil   *time.Time          `json:"owned_until"`
	SnoozedUntil *time.Time          `json:"snoozed_until"`
	Reopened     int                 `json:"reopened"`
	MergedInto   *string             `json:"merged_into"`
	Merged       []string            `json:"merged" most:"200"` // the incidents that are part of it
	Held         []reportHolder      `json:"held" most:"1000"`
	Timeline     []reportLine        `json:"timeline" most:"1000"` // oldest first
	Cut          bool                `json:"timeline_cut"`
	Charts       reportCharts        `json:"charts"`
	Jobs         reportJobs          `json:"jobs"`
	Deeds        []reportDeed        `json:"deeds" most:"200"`
	Refused      []reportRefusal     `json:"refused" most:"200"`
	Similar      []reportPredecessor `json:"similar" most:"20"`
}

type reportHolder struct {
	By   string     `json:"by"`
	From time.Time  `json:"from"`
	To   *time.Time `json:"to"`
}

type reportLine struct {
	At        time.Time        `json:"at"`
	Incident  *string          `json:"incident"` // another one's, where that is part of this one
	Action    *string          `json:"action"`   // what was done; null for a minute of the log
	Actor     *string          `json:"actor"`
	Reason    *string          `json:"reason"`
	Until     *time.Time       `json:"until"`
	Type      *string          `json:"type"` // what the log holds of a minute; null for what was done
	N         *int64           `json:"n"`
	Operation *reportOperation `json:"operation"` // what an operation on its jobs did; null otherwise
}

// reportOperation is an operation at the time of a line.
type reportOperation struct {
	ID        string `json:"id"`
	Does      string `json:"does"`       // requeue or terminate
	Total     int64  `json:"total"`      // jobs of its snapshot, the incident's and others
	DealtWith int64  `json:"dealt_with"` // of those, at the time
	Changed   int64  `json:"changed"`    // of those, once it has finished; 0 before
	Pace      *int64 `json:"pace"`       // jobs a minute; null for as fast as it goes
}

func reportOperationOf(o store.IncidentOperation) *reportOperation {
	if o.ID == 0 {
		return nil
	}
	return &reportOperation{decimal(o.ID), string(o.Does), o.Total, o.DealtWith, o.Changed, orNil(int64(o.Pace))}
}

type reportJobs struct {
	Since  *time.Time  `json:"since"` // from when on they are kept; null where none are
	Q      *string     `json:"q"`     // the search that finds them
	Total  int64       `json:"total"`
	Capped bool        `json:"capped"`          // there may be more than total
	List   []reportJob `json:"list" most:"400"` // the first ones by id
}

type reportJob struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Queue       string `json:"queue"`
	State       string `json:"state"`
	Generation  int64  `json:"generation"`
	Attempts    int    `json:"attempts"`
	MaxAttempts int    `json:"max_attempts"`
}

// reportCharts is what happened around the incident, in numbers and drawn.
type reportCharts struct {
	Step        int64           `json:"step_seconds"`
	Provisional int64           `json:"provisional"` // counted past the safe horizon
	Cut         bool            `json:"cut"`         // the newest numbers are too low
	Steps       []reportTick    `json:"steps" most:"240"`
	Drawn       []reportDrawing `json:"drawn" most:"10"`
}

type reportTick struct {
	At        time.Time `json:"at"`
	Claimed   int64     `json:"claimed"`
	Completed int64     `json:"completed"`
	Failed    int64     `json:"failed"`
	Expired   int64     `json:"expired"`
	Refused   int64     `json:"refused"`
}

type reportDrawing struct {
	Name string `json:"name"`
	Said string `json:"said"` // the same in words
	SVG  string `json:"svg"`
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
	out := IncidentReport{Version: reportVersion, MadeAt: r.Now, ID: decimal(i.ID), State: string(i.State), Severity: i.Severity, Rule: i.Rule, Title: rule.Title, Scope: i.Scope, Kind: i.Kind, Queue: i.Queue,
		What: i.What, Means: rule.Means, Do: rule.Do, OpenedAt: i.OpenedAt, FoundAt: i.FoundAt, ResolvedAt: orNil(i.ResolvedAt),
		Owner: orNil(i.Owner), OwnedUntil: orNil(i.OwnedUntil), SnoozedUntil: orNil(i.SnoozedUntil), Reopened: i.Reopened, Charts: chartsOf(r.Trend),
		MergedInto: idOrNil(i.MergedInto), Merged: []string{}, Held: []reportHolder{}, Timeline: []reportLine{}, Cut: r.More, Deeds: []reportDeed{}, Refused: []reportRefusal{}, Similar: []reportPredecessor{},
		Jobs: reportJobs{Since: orNil(i.JobsSince), Q: orNil(i.JobsSearch()), Total: r.Touched.N, Capped: r.Touched.Capped, List: []reportJob{}}}
	for _, m := range r.Merged {
		out.Merged = append(out.Merged, decimal(m.ID))
	}
	for _, h := range r.Holders() {
		out.Held = append(out.Held, reportHolder{h.By, h.From, orNil(h.To)})
	}
	for _, l := range r.Line {
		line := reportLine{At: l.At, Action: orNil(string(l.Action)), Actor: orNil(l.Actor), Reason: orNil(l.Reason), Until: orNil(l.Until), Type: orNil(string(l.Type)), N: orNil(l.N), Operation: reportOperationOf(l.Operation)}
		if l.Of != i.ID {
			line.Incident = idOrNil(l.Of)
		}
		out.Timeline = append(out.Timeline, line)
	}
	for _, j := range r.Jobs {
		out.Jobs.List = append(out.Jobs.List, reportJob{decimal(j.ID), j.Kind, j.Queue, string(j.State), j.Generation, j.Attempts, j.MaxAttempts})
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

func chartsOf(t store.Trend) reportCharts {
	out := reportCharts{Step: int64(max(t.Step, time.Minute) / time.Second), Provisional: t.Provisional, Cut: t.Cut, Steps: []reportTick{}, Drawn: []reportDrawing{}}
	for _, k := range t.Ticks {
		out.Steps = append(out.Steps, reportTick{k.At.UTC(), k.Claimed, k.Completed, k.Failed, k.Expired, k.Refused})
	}
	for _, c := range reportCharted(t) {
		out.Drawn = append(out.Drawn, reportDrawing{c.Name, c.Said, c.SVG})
	}
	return out
}

// WriteIncidentReport writes a report in a format, [FormatMarkdown] or
// [FormatJSON]. Nobody's words can break out of the Markdown: they stay words. Of
// words that are too long together the longest are cut, and say so, so that what
// is written as JSON can always be read again ([MaxIncidentReport]).
func WriteIncidentReport(w io.Writer, r store.IncidentReport, format string) error {
	r = bounded(r)
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
	t := TellIncident(r)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", markdown(t.Title), quoted(t.What))
	markdownSection(&b, t.Facts)
	if t.Means != "" {
		fmt.Fprintf(&b, "%s\n\n", markdown(t.Means))
	}
	markdownCharts(&b, t)
	for _, s := range t.Sections {
		markdownSection(&b, s)
	}
	b.WriteString(markdown(t.Made) + "\n")
	return b.String()
}

func markdownSection(b *strings.Builder, s ReportSection) {
	if s.Title != "" {
		b.WriteString("## " + markdown(s.Title) + "\n\n")
	}
	if s.Note != "" {
		b.WriteString(markdown(s.Note) + "\n\n")
	}
	if len(s.Rows) == 0 {
		return
	}
	rows := make([][]string, len(s.Rows))
	for n, row := range s.Rows {
		for _, cell := range row {
			rows[n] = append(rows[n], markdown(cell))
		}
	}
	table(b, s.Head, rows)
}

// markdownCharts draws what happened. The pictures are in the file itself; a
// reader that shows none shows their words instead.
func markdownCharts(b *strings.Builder, t IncidentTelling) {
	b.WriteString("## " + t.ChartsTitle + "\n\n" + t.Around + "\n\n")
	for _, c := range t.Charts {
		fmt.Fprintf(b, "![%s](data:image/svg+xml;base64,%s)\n\n%s\n\n", c.Said, base64.StdEncoding.EncodeToString([]byte(c.SVG)), c.Said)
	}
}
