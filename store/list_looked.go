package store

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

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
		state, most := "('"+string(p.state)+"', ", int64(math.MaxInt64)
		if p.span.most > 0 {
			most = p.span.most
		}
		rows := []string{"(j.state, j.id) >= " + state + p.arg(p.span.least, "bigint") + ")", "(j.state, j.id) <= " + state + p.arg(most, "bigint") + ")"}
		if from.ID != 0 {
			rows = append(rows, "(j.state, j.id) "+beyond+" "+state+p.arg(from.ID, "bigint")+")")
		}
		return rows
	}
	if p.order.at == "" {
		var rows []string
		if p.span.least > 0 {
			rows = append(rows, id+" >= "+p.arg(p.span.least, "bigint"))
		}
		if p.span.most > 0 {
			rows = append(rows, id+" <= "+p.arg(p.span.most, "bigint"))
		}
		if from.ID != 0 {
			rows = append(rows, id+" "+beyond+" "+p.arg(from.ID, "bigint"))
		}
		return rows
	}
	if from.ID == 0 {
		return nil
	}
	return []string{fmt.Sprintf("(j.%s, %s) %s (%s, %s)", p.order.at, id, beyond, p.arg(from.At, "timestamptz"), p.arg(from.ID, "bigint"))}
}

func whereAll(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return "\n  where " + strings.Join(conditions, " and ")
}
