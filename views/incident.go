package views

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/search"
)

// The routes of incidents.
const (
	RouteIncidents      = "/incidents"
	RouteIncident       = "/incidents/:id"
	RouteIncidentChange = "/incidents/:id/change" // POST
	RouteIncidentReport = "/incidents/:id/report" // the format in the query
	RouteIncidentReplay = "/incidents/replay"     // POST: the file of a report

	TopicIncidents = "incidents"
	TopicIncident  = "incident:" // and an id

	FieldSeverity = "severity" // change: low, medium or high
	FieldInto     = "into"     // merge: the id of the incident that goes on
	FieldFile     = "file"     // replay: a report, as JSON
)

// IncidentsPage is the list of incidents.
type IncidentsPage struct {
	Frame
	View    store.Incidents
	Targets []NoticeTarget
}

// IncidentPage is one incident's page.
type IncidentPage struct {
	Frame
	View     store.IncidentView
	Conflict *store.IncidentConflictError // why an action was refused (409); nil otherwise
	Problem  *store.InvalidError          // which field cannot be accepted (422); nil otherwise
	Offline  bool                         // told from a file: nothing leads to what this console holds

	Reason, For, Severity, Into string // as they were typed
}

// ReplayPage reads a report that was exported, and tells it.
type ReplayPage struct {
	Frame
	Report  *store.IncidentReport // what was read; nil before that
	Problem *store.InvalidError   // why the file cannot be read (422); nil otherwise
}

// incident is the page of the incident as the report tells it, at the time when it
// was made.
func (p ReplayPage) incident() IncidentPage {
	f := p.Frame
	f.Now = p.Report.Now
	return IncidentPage{Frame: f, View: p.Report.IncidentView, Offline: true}
}

// cellClass keeps what is short, as times and names mostly are, on one line: next
// to long words that may break anywhere it would be broken at every letter.
func cellClass(cell string) string {
	if utf8.RuneCountInString(cell) <= 40 && !strings.Contains(cell, "\n") {
		return "short"
	}
	return "wrap"
}

// severity is what the form offers: as it was chosen, else as it is.
func (p IncidentPage) severity() string { return cmp.Or(p.Severity, p.View.Incident.Severity) }

// Incident returns the address of an incident's page.
func (u URLs) Incident(id int64) string { return u.of(RouteIncident, id) }

// IncidentChange returns the address to which its actions are posted.
func (u URLs) IncidentChange(id int64) string { return u.of(RouteIncidentChange, id) }

// IncidentReport returns the address of its report in a format.
func (u URLs) IncidentReport(id int64, format string) string {
	return withQuery(u.of(RouteIncidentReport, id), url.Values{ParamFormat: {format}})
}

// IncidentDone returns the address of its page after something was done.
func (u URLs) IncidentDone(id int64) string {
	return u.Incident(id) + "?" + ParamDone + "=" + string(FlashIncident)
}

// ruleOf tells what a rule means; one of another version of the program is told
// by its name.
func ruleOf(i store.Incident) detect.Rule {
	if r, known := detect.Find(i.Rule); known {
		return r
	}
	return detect.Rule{Name: i.Rule, Title: i.Rule}
}

func severityTone(severity string) Tone {
	switch severity {
	case "high":
		return ToneBad
	case "medium":
		return ToneRetry
	}
	return ToneWait
}

func severityIcon(severity string) string {
	if severity == "high" {
		return "alarm"
	}
	return "retryable"
}

func scopeText(i store.Incident) string {
	if i.Scope == "" {
		return "everything"
	}
	return i.Scope
}

// incidentJobs is the address of the jobs that an incident is about; empty where
// no search finds them.
func incidentJobs(u URLs, i store.Incident) string {
	if i.JobsSearch() == "" {
		return ""
	}
	return u.Search(i.JobsSearch())
}

// lead is a place where the cause of an incident may be seen.
type lead struct{ Text, Href string }

// leads are where a rule tells to look: nobody should have to search for it.
func (p IncidentPage) leads() (out []lead) {
	i := p.View.Incident
	if p.Offline {
		return nil
	}
	if i.Job != 0 {
		out = append(out, lead{"job " + decimal(i.Job), p.URLs.Job(i.Job)})
	}
	if href := incidentJobs(p.URLs, i); href != "" {
		out = append(out, lead{"the jobs that it touches", href})
	}
	if i.Kind != "" {
		out = append(out, lead{"kind " + i.Kind, p.URLs.Kind(i.Kind)})
	}
	if i.Queue != "" {
		out = append(out, lead{"queue " + i.Queue, p.URLs.Queue(i.Queue)})
	}
	lost := slices.Contains(i.Types, store.TypeExpired) || slices.Contains(i.Types, store.TypeRejected)
	if lost || i.Scope == "" {
		out = append(out, lead{"the workers", p.URLs.At(RouteWorkers)})
	}
	return out
}

// weight is how a button of the form is drawn: what comes next stands out, which
// is to have the incident, and then to end it.
func (p IncidentPage) weight(do store.IncidentAction) string {
	next := store.IncidentAcknowledge
	switch p.View.Incident.State {
	case store.IncidentAcknowledged:
		next = store.IncidentResolve
	case store.IncidentResolved:
		next = store.IncidentNote
	}
	switch {
	case do == next:
		return "main solid"
	case do == store.IncidentAcknowledge || do == store.IncidentResolve:
		return "main"
	}
	return ""
}

// awake are the incidents that do not stand back.
func awake(all []store.Incident, now time.Time) (out []store.Incident) {
	for _, i := range all {
		if !i.Snoozed(now) {
			out = append(out, i)
		}
	}
	return out
}

var entryTexts = map[store.IncidentAction]string{
	store.IncidentOpened: "opened", store.IncidentReopened: "opened again", store.IncidentQuiet: "resolved by itself", store.IncidentLapsed: "open again",
	store.IncidentAcknowledge: "acknowledged", store.IncidentResolve: "resolved", store.IncidentSnooze: "snoozed", store.IncidentSeverity: "weighed", store.IncidentNote: "note", store.IncidentMerge: "merged", store.IncidentJoined: "took in",
}

func lineTitle(l store.IncidentLine) string {
	if l.Type != "" {
		return Grouped(l.N) + " " + string(l.Type)
	}
	if l.Operation.ID != 0 {
		return operationLine(l.Operation, l.Action)
	}
	if text, known := entryTexts[l.Action]; known {
		return text
	}
	return string(l.Action)
}

// operationLine says what became of an operation, and how far it had come.
func operationLine(o store.IncidentOperation, action store.IncidentAction) string {
	pace := ""
	if o.Pace > 0 {
		pace = ", " + Plural(int64(o.Pace), "job") + " a minute"
	}
	far := fmt.Sprintf(" after %s of %s", Grouped(o.DealtWith), Plural(o.Total, "job"))
	does := string(o.Does)
	switch store.Action(action) {
	case store.ActionConfirm:
		return does + " of " + Plural(o.Total, "job") + " begun" + pace
	case store.ActionPause:
		return does + " paused" + far
	case store.ActionResume:
		return does + " goes on" + far + pace
	case store.ActionCancel:
		return does + " cancelled" + far
	case "halt":
		return does + " halted" + far
	case "finish":
		return fmt.Sprintf("%s finished: %s of %s changed", does, Grouped(o.Changed), Plural(o.Total, "job"))
	}
	return does + ", " + string(action)
}

func lineTone(l store.IncidentLine) Tone {
	switch {
	case l.Type == store.TypeRejected:
		return ToneStale
	case l.Type == store.TypeExpired:
		return ToneRetry
	case l.Type == store.TypeFailed:
		return ToneBad
	}
	return ToneWait
}

// lineNote says what the numbers of a timeline count, and where they lead.
const lineNote = "A job is in the number of a minute as often as it happened to it, and also when it is gone; the jobs within the minute are those that are still there, each once."

// counts reports whether the timeline holds a number of the log.
func (p IncidentPage) counts() bool {
	return slices.ContainsFunc(p.View.Line, func(l store.IncidentLine) bool { return l.Type != "" })
}

// lineJobs is the address of the jobs of a counted minute, in the kind and queue
// that were counted, where a search finds them.
func (p IncidentPage) lineJobs(l store.IncidentLine) string {
	for _, line := range trendLines {
		if line.Query == "" || !(l.Type == store.TypeExpired && line.Name == "Expiries" || l.Type == store.TypeRejected && line.Name == "Refusals") {
			continue
		}
		within := ""
		if i := p.View.Incident; len(p.View.Merged) == 0 { // else each part has its own
			if i.Kind != "" {
				within += " kind:" + search.Quote(i.Kind)
			}
			if i.Queue != "" {
				within += " queue:" + search.Quote(i.Queue)
			}
		}
		return line.minute(p.URLs, l.At, within)
	}
	return ""
}

// IncidentsParts are what a stream sends of the list.
func IncidentsParts(p IncidentsPage) []templ.Component {
	return []templ.Component{activeIncidents(p), pastIncidents(p)}
}

// IncidentParts are what a stream sends of one incident.
func IncidentParts(p IncidentPage) []templ.Component {
	return []templ.Component{incidentHead(p), incidentFacts(p), incidentTimeline(p), incidentSimilar(p)}
}
