package search

import (
	"slices"
	"time"
)

// Query is a search: all of its terms must hold. The zero Query means every
// job.
type Query struct {
	Terms []Term
}

// Op is how a term compares.
type Op string

// The comparisons. Those of order are for numbers and moments.
const (
	Is      Op = ""   // any of the values
	More    Op = ">"  // above the value; of a moment, after all of it
	Least   Op = ">=" // the value or above
	Less    Op = "<"  // below the value; of a moment, before it begins
	Most    Op = "<=" // the value or below; of a moment, all of it
	Between Op = ".." // from the first value to the second, both included
)

// Term is one condition.
type Term struct {
	Not    bool
	Field  Field
	Path   []string // of [Args]: the names that lead to the value
	Op     Op
	Values []Value // at least one; two of [Between]
}

// Value is what a term compares with. Which fields are set follows from the
// [Sort] of the term's field.
type Value struct {
	Text   string // of texts, choices and payloads
	Prefix bool   // what is compared begins with Text
	Scalar bool   // of payloads: Text is a number, true, false or null, and also means that
	Number int64
	At     Instant
	Span   time.Duration
}

// Empty reports that the query leaves nothing out.
func (q Query) Empty() bool { return len(q.Terms) == 0 }

// InArgs reports whether the query looks into what jobs were given, which needs
// a right and must not stand in an address.
func (q Query) InArgs() bool {
	return slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Field == Args })
}

// Asks reports whether the query looks into what jobs were given or into the
// texts of their errors, negated or not: whoever may ask it can find both out.
func (q Query) Asks() bool {
	return slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Field == Args || t.Field == Error })
}

// Within reports whether the query selects jobs of queues only that a function
// accepts.
func (q Query) Within(accepts func(queue string) bool) bool {
	return slices.ContainsFunc(q.Terms, func(t Term) bool {
		return t.Field == Queue && !t.Not && t.Op == Is && !slices.ContainsFunc(t.Values, func(v Value) bool { return v.Prefix || !accepts(v.Text) })
	})
}

// Find returns the first term about a field that is not negated.
func (q Query) Find(field Field) (Term, bool) {
	for _, t := range q.Terms {
		if t.Field == field && !t.Not {
			return t, true
		}
	}
	return Term{}, false
}

// ValueOf is what stands behind the colon of the first term about a field, as
// the language writes it; empty when there is no such term.
func (q Query) ValueOf(field Field) string {
	t, ok := q.Find(field)
	if !ok {
		return ""
	}
	return t.value()
}

// With returns the query with the value of its first term about a field
// replaced, or with such a term added; an empty value takes the term out. What
// the value of a text field means is read as the language does where it can be,
// and taken literally where it holds spaces.
func (q Query) With(field Field, value string) (Query, error) {
	at := slices.IndexFunc(q.Terms, func(t Term) bool { return t.Field == field && !t.Not })
	terms := slices.Clone(q.Terms)
	if value == "" {
		if at >= 0 {
			terms = slices.Delete(terms, at, at+1)
		}
		return Query{terms}, nil
	}
	one, err := Parse(string(field) + ":" + value)
	if info, _ := Info(field); info.Sort == Text && (err != nil || len(one.Terms) != 1) {
		one, err = Parse(string(field) + ":" + Quote(value))
	}
	switch {
	case err != nil:
		return q, err
	case len(one.Terms) != 1:
		return q, &SyntaxError{At: 1, Term: string(field) + ":" + value, Field: field, Message: "has more than one value; write them with commas between"}
	case at >= 0:
		terms[at] = one.Terms[0]
	default:
		terms = append(terms, one.Terms[0])
	}
	return Query{terms}, nil
}

// And returns the query with an exact value of a field required too.
func (q Query) And(field Field, text string) Query {
	return Query{append(slices.Clone(q.Terms), Term{Field: field, Values: []Value{{Text: text}}})}
}
