package search

import (
	"fmt"
	"strings"
)

// Words says in a sentence's part which jobs a query selects, for people who do
// not know the language: "kind is report, state is discarded". What jobs were
// given is not told, only where it was looked for.
func (q Query) Words() string {
	if q.Empty() {
		return "every job"
	}
	parts := make([]string, len(q.Terms))
	for i, t := range q.Terms {
		parts[i] = t.words()
	}
	return strings.Join(parts, ", ")
}

func (t Term) words() string {
	is, contains := "is", "contains"
	if t.Not {
		is, contains = "is not", "does not contain"
	}
	info, _ := Info(t.Field)
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		values[i] = v.write(info.Sort)
	}
	either := strings.Join(values, " or ")
	switch t.Field {
	case Args:
		return fmt.Sprintf("args.%s %s what the search says", strings.Join(t.Path, "."), is)
	case Error:
		return "an attempt’s error " + contains + " " + either
	case Tag:
		return "a tag " + is + " " + either
	case Older:
		return enqueuedWords(t.Not, "more", values[0])
	case Newer:
		return enqueuedWords(t.Not, "less", values[0])
	case Incident:
		if t.Not {
			return "not touched by incident " + t.Op.words(values)
		}
		return "touched by incident " + t.Op.words(values)
	case Lease:
		return t.leaseWords(values)
	case Refused:
		if t.Not != (values[0] == "no") {
			return "no late write was refused"
		}
		return "a late write was refused"
	}
	name, ok := fieldWords[t.Field]
	if !ok {
		name = string(t.Field)
	}
	return name + " " + is + " " + t.Op.words(values)
}

var leaseWords = map[string][2]string{
	LeaseExpired: {"a lease of it expired", "no lease of it expired"},
	LeaseLive:    {"it runs under a live lease", "it does not run under a live lease"},
	LeaseLapsed:  {"it runs under a lease that has passed", "it does not run under a lease that has passed"},
	LeaseLost:    {"its last lease was lost", "its last lease was not lost"},
}

func (t Term) leaseWords(values []string) string {
	all := make([]string, len(values))
	for i, v := range values {
		if all[i] = leaseWords[v][0]; t.Not {
			all[i] = leaseWords[v][1]
		}
	}
	if t.Not {
		return strings.Join(all, " and ")
	}
	return strings.Join(all, " or ")
}

func enqueuedWords(not bool, than, span string) string {
	if not {
		return fmt.Sprintf("not enqueued %s than %s ago", than, span)
	}
	return fmt.Sprintf("enqueued %s than %s ago", than, span)
}

var fieldWords = map[Field]string{
	State: "state", Kind: "kind", Queue: "queue", Key: "key", ID: "id", Worker: "the last worker",
	Enqueued: "the time of its enqueue", Finished: "the time of its end", Due: "its due time", Attempts: "attempts used",
	Lost: "when a lease of it expired", Late: "when a late write was refused",
}

func (o Op) words(values []string) string {
	switch o {
	case More:
		return "above " + values[0]
	case Least:
		return "at least " + values[0]
	case Less:
		return "below " + values[0]
	case Most:
		return "at most " + values[0]
	case Between:
		return "from " + values[0] + " to " + values[1]
	}
	return strings.Join(values, " or ")
}
