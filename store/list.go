package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store/search"
)

// Filter says which jobs a list shows, in which order, and which page of it.
// Empty fields mean any.
type Filter struct {
	State State
	Kind  string // exact, as are Queue and Key
	Queue string
	Key   string
	Query search.Query // holds beside all of the above

	Order  Order
	After  Place         // the page that follows this place; [Page.Next]
	Before Place         // the page that leads up to this place; [Page.Prev]
	Limit  int           // 1 to [MaxPage]; 0 means 50
	Effort time.Duration // how long to go on looking where the first reading filled no page; 0 reads once
}

// Order is the order of a list.
type Order string

// The orders of a list. One by the time of the end shows jobs that have ended,
// one by the due time those that wait for it.
const (
	OrderNewest        Order = "newest"         // by id, the last one enqueued first
	OrderOldest        Order = "oldest"         // by id, the first one enqueued first
	OrderFinished      Order = "finished"       // the last one that ended first
	OrderFinishedFirst Order = "finished-first" // the first one that ended first
	OrderDue           Order = "due"            // the one due next first
	OrderDueLast       Order = "due-last"       // the one due last first
)

// Orders lists every order.
var Orders = []Order{OrderNewest, OrderOldest, OrderFinished, OrderFinishedFirst, OrderDue, OrderDueLast}

// Place is where one page of a list ends and another begins. The zero Place is
// none.
type Place struct {
	At time.Time // when the job ended or is due, in an order by that; zero otherwise
	ID int64
}

// String writes the place as [ParsePlace] reads it; empty for none.
func (p Place) String() string {
	switch {
	case p.ID == 0:
		return ""
	case p.At.IsZero():
		return strconv.FormatInt(p.ID, 10)
	}
	return strconv.FormatInt(p.At.UnixMicro(), 10) + "." + strconv.FormatInt(p.ID, 10)
}

// ParsePlace reads a place in its one spelling. Empty text is none.
func ParsePlace(text string) (Place, error) {
	if text == "" || text == "0" {
		return Place{}, nil
	}
	var p Place
	micros, id, timed := strings.Cut(text, ".")
	if !timed {
		id = text
	} else if n, err := strconv.ParseInt(micros, 10, 64); err == nil && n > -1<<55 && n < 1<<57 {
		p.At = time.UnixMicro(n).UTC()
	}
	p.ID, _ = strconv.ParseInt(id, 10, 64)
	if p.ID <= 0 || p.String() != text {
		return Place{}, &InvalidError{"after", "must be a cursor that an earlier answer gave"}
	}
	return p, nil
}

// beside is the place next to p, against the order where back is set: from
// there p itself is on the page.
func (p Place) beside(o orderSQL, back bool) Place {
	switch {
	case o.desc == back && p.ID > 1:
		p.ID--
	case o.desc != back && p.ID < 1<<63-1:
		p.ID++
	}
	return p
}

// MaxPage is the longest page of a list.
const MaxPage = 500

// Page is one page of a list. A job is on one page only, however many arrive
// meanwhile: pages are cut by place, not by number.
type Page struct {
	Jobs  []Job // ArgsBytes and ResultBytes are sizes as stored
	Order Order // as they are shown
	Next  Place // pass as After for what follows; none at the end
	Prev  Place // pass as Before for what comes before; none on the first page
	Bound int   // above 0 when the reading stopped after so many jobs before the page was full; Next goes on from there
}

// checked is check, with what a rule keeps from everybody left unasked.
func (s *Store) checked(f Filter) (Filter, error) {
	f, err := f.check()
	if err == nil {
		err = s.mayBeAsked(f.Query)
	}
	return f, err
}

// check returns the filter with everything that matches in its query.
func (f Filter) check() (Filter, error) {
	if f.State != "" && !f.State.Valid() {
		return f, &InvalidError{"state", "is not a state; the states are scheduled, available, running, retryable, completed, discarded and terminated"}
	}
	for _, n := range []struct {
		field, value string
		limit        int
	}{{"kind", f.Kind, MaxKind}, {"queue", f.Queue, MaxQueue}, {"key", f.Key, MaxKey}} {
		if err := checkName(n.field, n.value, n.limit); err != nil {
			return f, err
		}
	}
	f.Query = f.Search()
	if f.Order == "" {
		f.Order = f.natural()
	}
	o, known := orders[f.Order]
	switch {
	case !known:
		return f, &InvalidError{"order", "is not an order; the orders are newest, oldest, finished, finished-first, due and due-last"}
	case f.Before.ID > 0 && f.After.ID > 0:
		return f, &InvalidError{"after", "cannot be given together with before"}
	case !o.fits(f.After):
		return f, &InvalidError{"after", "must be a cursor that an earlier answer gave, in the same order"}
	case !o.fits(f.Before):
		return f, &InvalidError{"before", "must be a cursor that an earlier answer gave, in the same order"}
	case f.Limit < 0 || f.Limit > MaxPage:
		return f, &InvalidError{"limit", fmt.Sprintf("must be between 1 and %d", MaxPage)}
	case f.Limit == 0:
		f.Limit = 50
	}
	return f, nil
}

// Search is all that the filter asks for, as one search.
func (f Filter) Search() search.Query {
	q := f.Query
	for _, exact := range []struct {
		field search.Field
		text  string
	}{{search.State, string(f.State)}, {search.Kind, f.Kind}, {search.Queue, f.Queue}, {search.Key, f.Key}} {
		if exact.text != "" {
			q = q.And(exact.field, exact.text)
		}
	}
	return q
}

// natural is the order of a list that names none: by the time it asks about.
func (f Filter) natural() Order {
	if _, ok := f.Query.Find(search.Finished); ok {
		return OrderFinished
	}
	if _, ok := f.Query.Find(search.Due); ok {
		return OrderDue
	}
	return OrderNewest
}
