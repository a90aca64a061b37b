package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/store/search"
)

// orderSQL is an order as an index holds it.
type orderSQL struct {
	at     string // the column of time; empty for an order by id
	desc   bool
	states []State // the only ones that are in the order
}

var ended = []State{Completed, Discarded, Terminated}

var orders = map[Order]orderSQL{
	OrderNewest:        {"", true, States},
	OrderOldest:        {"", false, States},
	OrderFinished:      {"finished_at", true, ended},
	OrderFinishedFirst: {"finished_at", false, ended},
	OrderDue:           {"run_at", false, []State{Scheduled, Retryable}},
	OrderDueLast:       {"run_at", true, []State{Scheduled, Retryable}},
}

func (o orderSQL) fits(p Place) bool {
	return p.ID >= 0 && (p.ID == 0 || p.At.IsZero() == (o.at == ""))
}

// by is the order of rows r that hold the columns, backwards for a page that
// leads up to a place.
func (o orderSQL) by(r, at, id string, back bool) string {
	direction := ""
	if o.desc != back {
		direction = " desc"
	}
	if at == "" {
		return r + id + direction
	}
	return r + at + direction + ", " + r + id + direction
}

// listPlan is a list as statements read it: from an index in the list's order
// they look through a bounded number of jobs and keep those that match.
type listPlan struct {
	conditions
	order   orderSQL
	back    bool
	source  string // where jobs j come from, in order
	ids     string // or a statement that names jobs, in order, by what it calls column
	column  string
	states  []State      // whose streams are merged
	given   search.Field // what all of those jobs have in common
	state   State        // the only one, in an order by id
	pushed  []string     // what the source itself leaves out
	hit     string       // what is asked of each job that is looked at; empty for nothing
	nothing bool         // no job can match
	look    int          // how many jobs one statement looks at
}

// argsLook is how many jobs the first statement of a search in args looks at.
// Each may hold a megabyte.
const argsLook = 200

func planList(f Filter) *listPlan {
	p := &listPlan{order: orders[f.Order], back: f.Before.ID > 0, look: searchBound}
	states, terms := statesOf(f.Query)
	states = slices.DeleteFunc(states, func(s State) bool { return !slices.Contains(p.order.states, s) })
	p.nothing = len(states) == 0
	if f.Query.InArgs() {
		p.look = argsLook
	}
	p.from(f.Query, states)
	var hits []string
	for _, t := range terms {
		switch {
		case t.Field == p.given && !t.Not:
		case p.indexed(t):
			p.pushed = append(p.pushed, p.positive(t))
		default:
			hits = append(hits, p.term(t))
		}
	}
	p.hit = strings.Join(hits, "\n   and ")
	return p
}

// statesOf is the states that a query allows, and its other terms.
func statesOf(q search.Query) (states []State, rest []search.Term) {
	states = slices.Clone(States)
	for _, t := range q.Terms {
		if t.Field != search.State {
			rest = append(rest, t)
			continue
		}
		states = slices.DeleteFunc(states, func(s State) bool { return slices.Contains(words(t), string(s)) == t.Not })
	}
	if wants(q, search.Lease, search.LeaseLive) || wants(q, search.Lease, search.LeaseLapsed) {
		states = slices.DeleteFunc(states, func(s State) bool { return s != Running })
	}
	return states, rest
}

// indexed reports that the index which gives the order also leads to what the
// term asks for.
func (p *listPlan) indexed(t search.Term) bool {
	if t.Not || t.Op == search.Is && len(t.Values) > 1 {
		return false
	}
	return t.Field == search.ID && p.order.at == "" ||
		t.Field == search.Finished && p.order.at == "finished_at" ||
		t.Field == search.Due && p.order.at == "run_at"
}

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

// looked selects the next jobs from a place on, in order, with whether each
// matches; at most look of them.
func (p *listPlan) looked(from Place, look int) string {
	at, hit := "null::timestamptz", "true"
	if p.order.at != "" {
		at = "j." + p.order.at
	}
	if p.hit != "" {
		hit = p.hit
	}
	where := slices.Clone(p.pushed)
	if p.ids == "" {
		where = append(where, p.edge("j.id", from)...)
		order := p.order.by("j.", p.order.at, "id", p.back)
		if p.state != "" {
			order = p.order.by("j.", "state", "id", p.back)
		}
		limit, source := p.arg(look, "bigint"), p.source
		if p.states != nil {
			source, where = p.merged(where, order, limit), nil
		}
		return fmt.Sprintf(`
  select j.id, %s as at, %s as hit
  from %s j%s
  order by %s
  limit %s`, at, hit, source, whereAll(where), order, limit)
	}
	// Ids of jobs that are gone are looked at and match nothing.
	hit = strings.Join(append(where, hit), " and ")
	ids := p.ids
	for _, e := range p.edge(p.column, from) {
		ids += " and " + e
	}
	return fmt.Sprintf(`
  select n.id, null::timestamptz as at, j.id is not null and %s as hit
  from (%s
    order by %s
    limit %s) n
  left join fenceline.jobs j on j.id = n.id
  order by %s`, hit, ids, p.order.by("", "", "1", p.back), p.arg(look, "bigint"), p.order.by("n.", "", "id", p.back))
}

// edge leaves out what is not beyond a place. One state is asked for by rows of
// state and id: with an equality the planner may take the index on the id alone
// and go through every job, when most had that state a while ago.
func (p *listPlan) edge(id string, from Place) []string {
	beyond := ">"
	if p.order.desc != p.back {
		beyond = "<"
	}
	if p.state != "" {
		rows := []string{"(j.state, j.id) >= ('" + string(p.state) + "', 0)", "(j.state, j.id) <= ('" + string(p.state) + "', 9223372036854775807)"}
		if from.ID != 0 {
			rows = append(rows, "(j.state, j.id) "+beyond+" ('"+string(p.state)+"', "+p.arg(from.ID, "bigint")+")")
		}
		return rows
	}
	if from.ID == 0 {
		return nil
	}
	if p.order.at == "" {
		return []string{id + " " + beyond + " " + p.arg(from.ID, "bigint")}
	}
	return []string{fmt.Sprintf("(j.%s, %s) %s (%s, %s)", p.order.at, id, beyond, p.arg(from.At, "timestamptz"), p.arg(from.ID, "bigint"))}
}

func whereAll(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return "\n  where " + strings.Join(conditions, " and ")
}
