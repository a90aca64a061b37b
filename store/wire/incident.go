package wire

import "github.com/fenceline/fenceline/store"

// Incident is something wrong that a rule found.
type Incident struct {
	ID           string  `json:"id"`
	Revision     int64   `json:"revision"`
	State        string  `json:"state"`
	Severity     string  `json:"severity"`
	Rule         string  `json:"rule"`
	Scope        string  `json:"scope"`
	What         string  `json:"what"`
	N            int64   `json:"n"`
	Q            *string `json:"q"` // the search that finds its jobs
	Owner        *string `json:"owner"`
	OwnedUntil   *string `json:"owned_until"`
	SnoozedUntil *string `json:"snoozed_until"`
	OpenedAt     string  `json:"opened_at"`
	FoundAt      string  `json:"found_at"`
	ResolvedAt   *string `json:"resolved_at"`
	Reopened     int     `json:"reopened"`
	JobsSince    *string `json:"jobs_since"` // from when on the jobs of its evidence are kept
	MergedInto   *string `json:"merged_into"`
}

// IncidentOf shows an incident.
func IncidentOf(i store.Incident) Incident {
	return Incident{
		ID: Decimal(i.ID), Revision: i.Revision, State: string(i.State), Severity: i.Severity, Rule: i.Rule, Scope: i.Scope, What: i.What, N: i.N,
		Q: OrNull(i.JobsSearch()), Owner: OrNull(i.Owner), OwnedUntil: InstantOrNull(i.OwnedUntil), SnoozedUntil: InstantOrNull(i.SnoozedUntil),
		OpenedAt: Instant(i.OpenedAt), FoundAt: Instant(i.FoundAt), ResolvedAt: InstantOrNull(i.ResolvedAt), Reopened: i.Reopened,
		JobsSince: InstantOrNull(i.JobsSince), MergedInto: DecimalOrNull(i.MergedInto),
	}
}

// IncidentsOf shows incidents, in their order; none are an empty list.
func IncidentsOf(all []store.Incident) []Incident {
	out := make([]Incident, len(all))
	for n, i := range all {
		out[n] = IncidentOf(i)
	}
	return out
}

// IncidentLine is an entry of an incident's timeline.
type IncidentLine struct {
	At     string  `json:"at"`
	Of     *string `json:"of"`     // the incident that it was entered of; null for a minute
	Action *string `json:"action"` // what was done; null for a minute of the log
	Actor  *string `json:"actor"`
	Reason *string `json:"reason"`
	Until  *string `json:"until"`
	Type   *string `json:"type"` // what the log holds of a minute; null for what was done
	N      *int64  `json:"n"`

	Operation *IncidentOperation `json:"operation"` // what an operation on its jobs did; null otherwise
}

// IncidentOperation is an operation at the time of a line.
type IncidentOperation struct {
	ID        string `json:"id"`
	Does      string `json:"does"`
	Total     int64  `json:"total"`      // jobs of its snapshot, the incident's and others
	DealtWith int64  `json:"dealt_with"` // of those, at the time
	Changed   int64  `json:"changed"`    // of those, once it has finished; 0 before
	Pace      *int64 `json:"pace"`       // jobs a minute; null for as fast as it goes
}

func incidentOperationOf(o store.IncidentOperation) *IncidentOperation {
	if o.ID == 0 {
		return nil
	}
	return &IncidentOperation{Decimal(o.ID), string(o.Does), o.Total, o.DealtWith, o.Changed, OrNull(int64(o.Pace))}
}

// IncidentView is an incident with what is known of it.
type IncidentView struct {
	Incident
	Timeline []IncidentLine `json:"timeline"` // oldest first
	Similar  []Incident     `json:"similar"`
	Merged   []Incident     `json:"merged"`  // the incidents that are part of it
	Touched  Count          `json:"touched"` // the jobs of its evidence
}

// IncidentViewOf shows an incident's page.
func IncidentViewOf(v store.IncidentView) IncidentView {
	out := IncidentView{Incident: IncidentOf(v.Incident), Timeline: []IncidentLine{}, Similar: IncidentsOf(v.Similar),
		Merged: IncidentsOf(v.Merged), Touched: Count(v.Touched)}
	for _, l := range v.Line {
		out.Timeline = append(out.Timeline, IncidentLine{At: Instant(l.At), Of: DecimalOrNull(l.Of), Action: OrNull(string(l.Action)), Actor: OrNull(l.Actor),
			Reason: OrNull(l.Reason), Until: InstantOrNull(l.Until), Type: OrNull(string(l.Type)), N: OrNull(l.N),
			Operation: incidentOperationOf(l.Operation)})
	}
	return out
}
