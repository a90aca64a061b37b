package views

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// List is a list of jobs as an address names it.
type List struct {
	store.Filter
	Kept    string   // the id under which the query is kept, when it may not stand in an address
	Columns []Column // shown beside the job; nil shows [Usual]
}

// Column is a column of a list of jobs that can be left out.
type Column string

// AllColumns lists the columns in their order.
var AllColumns = []Column{"kind", "state", "queue", "key", "tags", "generation", "used", "worker", "due", "enqueued", "finished"}

// Usual are the columns of a list that names none.
var Usual = slices.DeleteFunc(slices.Clone(AllColumns), func(c Column) bool { return c == "tags" })

func (l List) columns() []Column {
	if l.Columns == nil {
		return Usual
	}
	return l.Columns
}

// hides is the classes of a table that leave columns out.
func (l List) hides() string {
	out := "jobs"
	for _, c := range AllColumns {
		if !slices.Contains(l.columns(), c) {
			out += " no-" + string(c)
		}
	}
	return out
}

// Name is what tells the list from another in the attributes of its body, in
// topics and in addresses: its parameters without the page's.
func (l List) Name() string { return l.named().Encode() }

func (l List) named() url.Values {
	q := url.Values{}
	if query := l.Search(); l.Kept != "" {
		q.Set(ParamKept, l.Kept)
	} else if !query.Empty() {
		q.Set(ParamSearch, query.String())
	}
	return q
}

func (l List) query() url.Values {
	q := l.named()
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set(ParamOrder, string(l.Order))
	if l.Limit != 0 {
		q.Set(ParamLimit, decimal(int64(l.Limit)))
	}
	if l.Columns != nil && !slices.Equal(l.Columns, Usual) {
		names := make([]string, len(l.Columns))
		for i, c := range l.Columns {
			names[i] = string(c)
		}
		q.Set(ParamColumns, strings.Join(names, ","))
	}
	set(ParamAfter, l.After.String())
	set(ParamBefore, l.Before.String())
	return q
}

// at is another page of the list.
func (l List) at(after, before store.Place) List {
	l.After, l.Before = after, before
	return l
}

// by is the list from its beginning in another order.
func (l List) by(o store.Order) List {
	l.Order = o
	return l.at(store.Place{}, store.Place{})
}

// control is a field of the search that has a place of its own in the form.
type control struct {
	field   search.Field
	label   string
	example string
	known   string // the id of a list of known values
	words   []string
}

// main controls are always seen; the others unfold.
var mainControls = []control{
	{field: search.State, label: "State", words: choices(search.State)},
	{field: search.Kind, label: "Kind", known: "known-kinds"},
	{field: search.Queue, label: "Queue", known: "known-queues"},
	{field: search.Key, label: "Key"},
	{field: search.Older, label: "Older than", example: "1h"},
	{field: search.Error, label: "Error", example: "timeout"},
}

var moreControls = []control{
	{field: search.Newer, label: "Newer than", example: "7d"},
	{field: search.Enqueued, label: "Enqueued", example: ">2026-01-01"},
	{field: search.Finished, label: "Finished", example: ">-2h"},
	{field: search.Due, label: "Due", example: "<+10m"},
	{field: search.Attempts, label: "Attempts used", example: ">3"},
	{field: search.Worker, label: "Worker", known: "known-workers"},
	{field: search.Tag, label: "Tag", known: "known-tags"},
	{field: search.ID, label: "Job id", example: ">70000"},
	{field: search.Lease, label: "Lease", words: choices(search.Lease)},
	{field: search.Refused, label: "Refused write", words: choices(search.Refused)},
	{field: search.Lost, label: "Lease expired", example: ">-15m"},
	{field: search.Late, label: "Write refused", example: ">-15m"},
	{field: search.Incident, label: "Incident", example: "12"},
}

func choices(field search.Field) []string {
	info, _ := search.Info(field)
	return info.Words
}

// Controls lists the fields of a search that the form has controls for.
func Controls() []search.Field {
	var out []search.Field
	for _, c := range slices.Concat(mainControls, moreControls) {
		out = append(out, c.field)
	}
	return out
}

// name is what the form sends the control's value as.
func (c control) name() string { return FieldControl + string(c.field) }

// value is what the control shows: the query's where it could be read.
func (c control) value(p JobsPage) string { return p.Query().ValueOf(c.field) }

// unusual reports that a choice shows something else than one of its words.
func (c control) unusual(p JobsPage) bool {
	v := c.value(p)
	return v != "" && !slices.Contains(c.words, v)
}

// unfolded reports that a control behind the fold is in use.
func unfolded(p JobsPage) bool {
	return slices.ContainsFunc(moreControls, func(c control) bool { return c.value(p) != "" })
}

var orderNames = map[store.Order]string{
	store.OrderNewest:        "newest first",
	store.OrderOldest:        "oldest first",
	store.OrderFinished:      "ended last first",
	store.OrderFinishedFirst: "ended first first",
	store.OrderDue:           "due next first",
	store.OrderDueLast:       "due last first",
}

// orderHolds is which jobs alone are in an order; empty for all.
func orderHolds(o store.Order) string {
	switch o {
	case store.OrderFinished, store.OrderFinishedFirst:
		return "jobs that have ended"
	case store.OrderDue, store.OrderDueLast:
		return "jobs that wait for their time"
	}
	return ""
}

// shownSize is the page size that the form shows.
func shownSize(p JobsPage) int {
	if p.Filter.Limit == 0 {
		return 50
	}
	return p.Filter.Limit
}

var pageSizes = []int{25, 50, 100, 200, 500}

// header is a column whose head sorts the list: by the first order, and by the
// other one when it is sorted by that already.
func sortTo(p JobsPage, first, other store.Order) List {
	if p.Page.Order == first {
		return p.List.by(other)
	}
	return p.List.by(first)
}

// sorted is the aria-sort of a head.
func sorted(p JobsPage, ascending, descending store.Order) string {
	switch p.Page.Order {
	case ascending:
		return "ascending"
	case descending:
		return "descending"
	}
	return "none"
}

// matchText says how many jobs match, as far as that was counted.
func matchText(p JobsPage) string {
	jobs := " jobs match"
	if p.Query().Empty() {
		jobs = " jobs"
	}
	switch c := p.Count; {
	case c.N == 1 && !c.Capped:
		return "1 job" + strings.Replace(strings.TrimPrefix(jobs, " jobs"), "match", "matches", 1)
	case c.Capped && c.N < 10000:
		return "At least " + Grouped(c.N) + jobs
	default:
		return CountText(c) + jobs
	}
}
