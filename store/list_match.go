package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/store/search"
)

// conditions collects what a statement asks of a job j, and its arguments.
// Whatever a person wrote is an argument.
type conditions struct {
	args []any
}

// arg adds an argument and returns how the statement names it.
func (c *conditions) arg(v any, of string) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("$%d::%s", len(c.args), of)
}

// term is the condition of one term, which is never null.
func (c *conditions) term(t search.Term) string {
	sql := "(" + c.positive(t) + ")"
	if t.Not {
		return sql + " is not true"
	}
	return sql + " is true"
}

// positive is the condition of a term as though it were not negated; null
// counts as false. What another table says is looked up for each job: without
// "offset 0" PostgreSQL 18 reads all of that table once, to hash it.
func (c *conditions) positive(t search.Term) string {
	switch t.Field {
	case search.State:
		return "j.state = any (" + c.arg(words(t), "text[]") + "::fenceline.job_state[])"
	case search.Kind, search.Queue, search.Key, search.Worker:
		return c.text("j."+string(t.Field), t)
	case search.Tag:
		return "exists (select from unnest(j.tags) tag where " + c.text("tag", t) + ")"
	case search.ID:
		return c.number("j.id", t)
	case search.Attempts:
		return c.number("j.attempts_used", t)
	case search.Enqueued:
		return c.moment("j.created_at", t)
	case search.Finished:
		return c.moment("j.finished_at", t)
	case search.Due:
		return "j.state in ('scheduled', 'retryable') and (" + c.moment("j.run_at", t) + ")"
	case search.Older:
		return "j.created_at < statement_timestamp() - " + c.arg(t.Values[0].Span, "interval")
	case search.Newer:
		return "j.created_at >= statement_timestamp() - " + c.arg(t.Values[0].Span, "interval")
	case search.Lease:
		return c.anyOf(t, func(v search.Value) string { return leases[v.Text] })
	case search.Refused:
		return c.refused(t)
	case search.Lost:
		return c.lostAt(TypeExpired, t)
	case search.Late:
		return c.lostAt(TypeRejected, t)
	case search.Incident:
		return "exists (select from fenceline.incident_jobs i where i.job_id = j.id and " + c.number("i.incident_id", t) + " offset 0)"
	case search.Error:
		return "exists (select from fenceline.attempt_errors e where e.job_id = j.id and (" + c.failure(t) + ") offset 0)"
	case search.Args:
		return c.payload(t)
	}
	return "false"
}

func words(t search.Term) []string {
	out := make([]string, len(t.Values))
	for i, v := range t.Values {
		out[i] = v.Text
	}
	return out
}

func (c *conditions) anyOf(t search.Term, one func(search.Value) string) string {
	all := make([]string, len(t.Values))
	for i, v := range t.Values {
		all[i] = one(v)
	}
	return strings.Join(all, " or ")
}

func exact(t search.Term) bool {
	return t.Op == search.Is && !slices.ContainsFunc(t.Values, func(v search.Value) bool { return v.Prefix })
}

func (c *conditions) text(column string, t search.Term) string {
	if exact(t) {
		return column + " = any (" + c.arg(words(t), "text[]") + ")"
	}
	return c.anyOf(t, func(v search.Value) string {
		if v.Prefix {
			return "starts_with(" + column + ", " + c.arg(v.Text, "text") + ")"
		}
		return column + " = " + c.arg(v.Text, "text")
	})
}

func (c *conditions) number(column string, t search.Term) string {
	switch t.Op {
	case search.Is:
		all := make([]int64, len(t.Values))
		for i, v := range t.Values {
			all[i] = v.Number
		}
		return column + " = any (" + c.arg(all, "bigint[]") + ")"
	case search.Between:
		return column + " between " + c.arg(t.Values[0].Number, "bigint") + " and " + c.arg(t.Values[1].Number, "bigint")
	}
	return column + " " + string(t.Op) + " " + c.arg(t.Values[0].Number, "bigint")
}

func (c *conditions) moment(column string, t search.Term) string {
	if t.Op == search.Between {
		return c.bound(column, search.Least, t.Values[0].At) + " and " + c.bound(column, search.Most, t.Values[1].At)
	}
	return c.anyOf(t, func(v search.Value) string {
		if t.Op == search.Is {
			return "(" + c.bound(column, search.Least, v.At) + " and " + c.bound(column, search.Most, v.At) + ")"
		}
		return c.bound(column, t.Op, v.At)
	})
}

// bound compares a time with a moment, which may have a length: a day is over
// when the next one begins.
func (c *conditions) bound(column string, op search.Op, at search.Instant) string {
	switch {
	case at.Relative:
		return column + " " + string(op) + " statement_timestamp() + " + c.arg(at.Offset, "interval")
	case op == search.More:
		return column + " >= " + c.arg(at.To, "timestamptz")
	case op == search.Most:
		return column + " < " + c.arg(at.To, "timestamptz")
	}
	return column + " " + string(op) + " " + c.arg(at.From, "timestamptz")
}

// leases is what each word about a job's leases asks.
var leases = map[string]string{
	search.LeaseExpired: lost("expired"),
	search.LeaseLive:    "j.state = 'running' and j.lease_until > clock_timestamp()",
	search.LeaseLapsed:  "j.state = 'running' and j.lease_until <= clock_timestamp()",
	search.LeaseLost:    "j.attempt_end = 'expired'",
}

func lost(what Type) string { return lostWhere(what, "true") }

// lostWhere asks for such a transition t of the job that meets a condition.
func lostWhere(what Type, condition string) string {
	return "exists (select from fenceline.transitions t where t.type = '" + string(what) + "' and t.job_id = j.id and (" + condition + ") offset 0)"
}

func (c *conditions) lostAt(what Type, t search.Term) string {
	return lostWhere(what, c.moment("t.at", t))
}

func (c *conditions) refused(t search.Term) string {
	return c.anyOf(t, func(v search.Value) string {
		if v.Text == "no" {
			return "not " + lost(TypeRejected)
		}
		return lost(TypeRejected)
	})
}

// failure is about one of a job's errors e.
func (c *conditions) failure(t search.Term) string {
	return c.anyOf(t, func(v search.Value) string {
		text := c.arg(v.Text, "text")
		if v.Prefix {
			return fmt.Sprintf("starts_with(lower(e.class), lower(%s)) or starts_with(lower(e.message), lower(%[1]s))", text)
		}
		return fmt.Sprintf("strpos(lower(e.class), lower(%s)) > 0 or strpos(lower(e.message), lower(%[1]s)) > 0", text)
	})
}

// payload compares single values of JSON, so that every digit of a number counts
// and nothing is told of what stands deeper, where other rules may hold.
// What looks like a number may have been given as a text too.
func (c *conditions) payload(t search.Term) string {
	path := c.arg(t.Path, "text[]")
	return c.anyOf(t, func(v search.Value) string {
		text := c.arg(v.Text, "text")
		switch {
		case v.Prefix:
			return "jsonb_typeof(j.args #> " + path + ") not in ('object', 'array') and starts_with(j.args #>> " + path + ", " + text + ")"
		case v.Scalar:
			return "j.args #> " + path + " in (to_jsonb(" + text + "), " + text + "::jsonb)"
		}
		return "j.args #> " + path + " = to_jsonb(" + text + ")"
	})
}
