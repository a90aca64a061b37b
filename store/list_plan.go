package store

import (
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

	enqueued *enqueued // when the jobs were enqueued, if that bounds the ids
	narrowed bool
	span     idSpan
}

// argsLook is how many jobs the first statement of a search in args looks at.
// Each may hold a megabyte.
const argsLook = 200

// narrowLook is how many jobs a search by the time of enqueueing looks at before
// it asks which ids that time can have.
const narrowLook = 2000

func planList(f Filter) *listPlan {
	p := &listPlan{order: orders[f.Order], back: f.Before.ID > 0, look: searchBound}
	states, terms := statesOf(f.Query)
	states = slices.DeleteFunc(states, func(s State) bool { return !slices.Contains(p.order.states, s) })
	p.nothing = len(states) == 0
	if f.Query.InArgs() {
		p.look = argsLook
	}
	p.enqueued = &enqueued{}
	if p.order.at == "" {
		p.enqueued = newEnqueued(terms)
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

// first is how many jobs the first statement looks at.
func (p *listPlan) first() int {
	if p.wide() {
		return min(p.look, narrowLook)
	}
	return p.look
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
