package views

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
)

// MaxIncidentReport bounds the file of a report that is read, in bytes.
const MaxIncidentReport = 16 << 20

// ReadIncidentReport reads a report that was exported as JSON, from a file that
// anybody may have made. It is told as it stands in the file: nothing is looked up
// anywhere, its drawings are made anew from their numbers, and what its rule means
// is told by this program. Whatever is wrong is an [*store.InvalidError] that
// names the field, or an error of r.
func ReadIncidentReport(r io.Reader) (store.IncidentReport, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxIncidentReport+1))
	if err != nil {
		return store.IncidentReport{}, fmt.Errorf("read a report: %w", err)
	}
	if len(raw) > MaxIncidentReport {
		return store.IncidentReport{}, &store.InvalidError{Field: "file", Message: fmt.Sprintf("is larger than %d MiB", MaxIncidentReport>>20)}
	}
	var in IncidentReport
	if err := strictly(raw, &in); err != nil {
		return store.IncidentReport{}, err
	}
	return in.report()
}

// reportCheck keeps the first thing that is wrong.
type reportCheck struct{ err error }

func (c *reportCheck) wrong(field, format string, args ...any) {
	if c.err == nil {
		c.err = &store.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
	}
}

// id reads an id; nil is 0, which stands for none.
func (c *reportCheck) id(field string, text *string) int64 {
	if text == nil {
		return 0
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != *text {
		c.wrong(field, "must be an id: the digits of a whole number above 0")
	}
	return n
}

// oneOf holds a word against those that it can be.
func oneOf[T ~string](c *reportCheck, field, word string, known ...T) T {
	if !slices.Contains(known, T(word)) {
		c.wrong(field, "must be one of %s", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(known), "[]")), ", "))
	}
	return T(word)
}

func orElse[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

func instantOf(t *time.Time) time.Time { return orElse(t, time.Time{}) }

// report is the inverse of [IncidentReportOf].
func (in IncidentReport) report() (store.IncidentReport, error) {
	var c reportCheck
	if in.Version != reportVersion {
		c.wrong("report", "is %d; this program reads reports of version %d", in.Version, reportVersion)
	}
	i := store.Incident{ID: c.id("id", &in.ID), Severity: string(oneOf(&c, "severity", in.Severity, "low", "medium", "high")),
		State: oneOf(&c, "state", in.State, store.IncidentOpen, store.IncidentAcknowledged, store.IncidentResolved),
		Rule:  in.Rule, Scope: in.Scope, Kind: in.Kind, Queue: in.Queue, What: in.What, Search: orElse(in.Jobs.Q, ""),
		Owner: orElse(in.Owner, ""), OwnedUntil: instantOf(in.OwnedUntil), SnoozedUntil: instantOf(in.SnoozedUntil),
		OpenedAt: in.OpenedAt, FoundAt: in.FoundAt, ResolvedAt: instantOf(in.ResolvedAt), Reopened: in.Reopened,
		JobsSince: instantOf(in.Jobs.Since), MergedInto: c.id("merged_into", in.MergedInto)}
	if in.Rule == "" {
		c.wrong("rule", "is required")
	}
	if (i.State == store.IncidentResolved) != (in.ResolvedAt != nil) {
		c.wrong("resolved_at", "must stand with the state resolved, and with no other")
	}
	r := store.IncidentReport{IncidentView: store.IncidentView{Now: in.MadeAt, Incident: i, More: in.Cut, Touched: store.Count{N: in.Jobs.Total, Capped: in.Jobs.Capped}}}
	for n := range in.Merged {
		r.Merged = append(r.Merged, store.Incident{ID: c.id(fmt.Sprintf("merged[%d]", n), &in.Merged[n])})
	}
	in.timeline(&c, &r)
	in.charts(&c, &r)
	in.touched(&c, &r)
	return r, c.err
}

func (in IncidentReport) timeline(c *reportCheck, r *store.IncidentReport) {
	for n, l := range in.Timeline {
		at := fmt.Sprintf("timeline[%d]", n)
		line := store.IncidentLine{At: l.At, Of: c.id(at+".incident", l.Incident), Action: store.IncidentAction(orElse(l.Action, "")), Actor: orElse(l.Actor, ""),
			Reason: orElse(l.Reason, ""), Until: instantOf(l.Until), Type: store.Type(orElse(l.Type, "")), N: orElse(l.N, 0)}
		switch {
		case (line.Action == "") == (line.Type == ""):
			c.wrong(at+".action", "must stand without type, and one of the two must")
		case line.Type != "" && line.N == 0:
			c.wrong(at+".n", "must be above 0: it counts what type names")
		case line.Type == "" && line.N != 0:
			c.wrong(at+".n", "must stand with type")
		}
		line.Operation = l.operation(c, at)
		if n > 0 && l.At.Before(in.Timeline[n-1].At) {
			c.wrong(at+".at", "must not be before the line above it")
		}
		if line.Type == "" && line.Of == 0 {
			line.Of = r.Incident.ID
		}
		r.Line = append(r.Line, line)
	}
}

// operation is the inverse of reportOperationOf.
func (l reportLine) operation(c *reportCheck, at string) store.IncidentOperation {
	o := l.Operation
	if o == nil {
		return store.IncidentOperation{}
	}
	at += ".operation"
	switch {
	case l.Action == nil:
		c.wrong(at, "must stand with action")
	case o.DealtWith > o.Total:
		c.wrong(at+".dealt_with", "must not be above total")
	case o.Changed > o.DealtWith:
		c.wrong(at+".changed", "must not be above dealt_with")
	}
	return store.IncidentOperation{ID: c.id(at+".id", &o.ID), Does: oneOf(c, at+".does", o.Does, store.ActionRequeue, store.ActionTerminate),
		Total: o.Total, DealtWith: o.DealtWith, Changed: o.Changed, Pace: int(orElse(o.Pace, 0))}
}

func (in IncidentReport) charts(c *reportCheck, r *store.IncidentReport) {
	step := time.Duration(in.Charts.Step) * time.Second
	if in.Charts.Step < 60 || in.Charts.Step > 1e9 || in.Charts.Step%60 != 0 {
		c.wrong("charts.step_seconds", "must be whole minutes")
		return
	}
	r.Trend = store.Trend{Step: step, Provisional: in.Charts.Provisional, Cut: in.Charts.Cut}
	for n, k := range in.Charts.Steps {
		if n > 0 && !k.At.Equal(in.Charts.Steps[n-1].At.Add(step)) {
			c.wrong(fmt.Sprintf("charts.steps[%d].at", n), "must be one step after the one before it")
		}
		r.Trend.Ticks = append(r.Trend.Ticks, store.Tick{At: k.At, Counts: store.Counts{Claimed: k.Claimed, Completed: k.Completed, Failed: k.Failed, Expired: k.Expired, Refused: k.Refused}})
	}
}

func (in IncidentReport) touched(c *reportCheck, r *store.IncidentReport) {
	for n, j := range in.Jobs.List {
		at := fmt.Sprintf("jobs.list[%d]", n)
		r.Jobs = append(r.Jobs, store.Job{ID: c.id(at+".id", &j.ID), Kind: j.Kind, Queue: j.Queue, State: oneOf(c, at+".state", j.State, store.States...),
			Generation: j.Generation, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts})
	}
	for n, d := range in.Deeds {
		at := fmt.Sprintf("deeds[%d]", n)
		if d.Action == "" {
			c.wrong(at+".action", "is required")
		}
		r.Deeds = append(r.Deeds, store.IncidentDeed{Action: d.Action, Actor: d.Actor, Reason: orElse(d.Reason, ""), Operation: c.id(at+".operation", d.Operation),
			Outcome: d.Outcome, Jobs: d.Jobs, First: d.First, Last: d.Last})
	}
	for n, t := range in.Refused {
		r.Refused = append(r.Refused, store.Transition{At: t.At, Type: store.TypeRejected, JobID: c.id(fmt.Sprintf("refused[%d].job_id", n), &t.Job),
			Generation: t.Generation, Op: store.Op(t.Op), Reason: t.Reason, Worker: t.Worker})
	}
	for n, s := range in.Similar {
		r.Similar = append(r.Similar, store.Incident{ID: c.id(fmt.Sprintf("similar[%d].id", n), &s.ID), OpenedAt: s.OpenedAt, ResolvedAt: instantOf(s.ResolvedAt), What: s.What})
	}
}
