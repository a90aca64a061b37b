package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/store/search"
)

// few are the states of which there never are many, or that are looked at when
// something is wrong: their jobs are looked through before those that failed.
var few = []State{Running, Retryable, Discarded, Terminated}

// from chooses where jobs are read. The first that applies leads to the fewest.
func (p *listPlan) from(q search.Query, states []State) {
	id, byID := q.Find(search.ID)
	kind, byKind := q.Find(search.Kind)
	key, byKey := q.Find(search.Key)
	byID, byKind, byKey = byID && exact(id), byKind && exact(kind), byKey && exact(key)
	_, failed := q.Find(search.Error)
	_, expired := q.Find(search.Lost)
	_, late := q.Find(search.Late)
	incident, byIncident := q.Find(search.Incident)
	switch {
	case byID:
		p.rows(states, "fenceline.jobs j", p.positive(id))
	case byKey && byKind:
		p.rows(states, "fenceline.jobs j", p.positive(kind), p.positive(key))
	case byKey:
		p.rows(states, kindsSQL+" cross join lateral (select * from fenceline.jobs j where j.kind = k.kind and "+p.positive(key)+" offset 0) j")
	case byIncident && exact(incident) && len(incident.Values) == 1 && p.order.at == "":
		p.lost(states, "select i.job_id as id from fenceline.incident_jobs i where i.incident_id = "+p.arg(incident.Values[0].Number, "bigint"), "i.job_id")
		p.given = search.Incident
	case p.order.at == "run_at":
		p.source = "fenceline.jobs"
		p.pushed = []string{"j.state in ('scheduled', 'retryable')"}
		p.only(states)
	case p.order.at != "":
		p.streams(states)
	case len(states) < len(States) && subset(states, few):
		p.streams(states)
	case wants(q, search.Refused, "yes"):
		p.lost(states, "select distinct t.job_id as id from fenceline.transitions t where t.type = 'rejected'", "t.job_id")
		p.given = search.Refused
	case wants(q, search.Lease, search.LeaseExpired):
		p.lost(states, "select distinct t.job_id as id from fenceline.transitions t where t.type = 'expired'", "t.job_id")
		p.given = search.Lease
	case late:
		p.lost(states, "select distinct t.job_id as id from fenceline.transitions t where t.type = 'rejected'", "t.job_id")
	case expired:
		p.lost(states, "select distinct t.job_id as id from fenceline.transitions t where t.type = 'expired'", "t.job_id")
	case failed:
		p.lost(states, "select distinct e.job_id as id from fenceline.attempt_errors e where true", "e.job_id")
	case len(states) < len(States):
		p.streams(states)
	default:
		p.source = "fenceline.jobs"
	}
}

// kindsSQL lists the kinds that have keys, one step in the index each.
const kindsSQL = `(
    with recursive kinds as (
      (select j.kind from fenceline.jobs j where j.key is not null order by j.kind limit 1)
      union all
      select (select j.kind from fenceline.jobs j where j.key is not null and j.kind > k.kind order by j.kind limit 1)
      from kinds k where k.kind is not null
    )
    select kind from kinds where kind is not null offset 0
  ) k`

// rows reads the jobs that an index leads to, which are never many.
func (p *listPlan) rows(states []State, from string, where ...string) {
	if len(where) > 0 {
		from += " where " + strings.Join(where, " and ")
	}
	p.source = "(select j.* from " + from + " offset 0)"
	p.only(states)
}

// only leaves out jobs in other states, where the source does not.
func (p *listPlan) only(states []State) {
	if len(states) < len(States) {
		p.pushed = append(p.pushed, "j.state = any ("+p.arg(texts(states), "text[]")+"::fenceline.job_state[])")
	}
}

// streams reads the jobs of each state in the order of the list and merges
// them.
func (p *listPlan) streams(states []State) {
	if len(states) == 1 && p.order.at == "" {
		p.source, p.state = "fenceline.jobs", states[0]
		return
	}
	p.states = states
}

// merged merges the streams of several states. Each is in the order of the list
// already, so that no more is read than what is looked at.
func (p *listPlan) merged(where []string, order, limit string) string {
	each := make([]string, len(p.states))
	for i, s := range p.states {
		all := append([]string{"j.state = '" + string(s) + "'"}, where...)
		each[i] = fmt.Sprintf("(select * from fenceline.jobs j%s order by %s limit %s)", whereAll(all), order, limit)
	}
	return "(" + strings.Join(each, "\n    union all ") + ")"
}

// lost reads the jobs that an index on something else names, by their ids.
func (p *listPlan) lost(states []State, ids, column string) {
	p.ids, p.column = ids, column
	p.only(states)
}

func texts[T ~string](states []T) []string {
	out := make([]string, len(states))
	for i, s := range states {
		out[i] = string(s)
	}
	return out
}

func subset(some, all []State) bool {
	return !slices.ContainsFunc(some, func(s State) bool { return !slices.Contains(all, s) })
}

// wants reports that a query asks for one word of a field and no other.
func wants(q search.Query, field search.Field, word string) bool {
	t, ok := q.Find(field)
	return ok && !slices.ContainsFunc(t.Values, func(v search.Value) bool { return v.Text != word })
}
