package store_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func (f *fixture) page(filter store.Filter) store.Page {
	f.t.Helper()
	p, err := f.Jobs(f.ctx, filter)
	if err != nil {
		f.t.Fatalf("%+v: %v", filter, err)
	}
	if !slices.IsSortedFunc(p.Jobs, func(a, b store.Job) int { return comparePlaces(p.Order, a, b) }) {
		f.t.Fatalf("%+v: not in order", filter)
	}
	return p
}

// comparePlaces says which of two jobs comes first in an order.
func comparePlaces(o store.Order, a, b store.Job) int {
	byTime := func(at func(store.Job) time.Time) int {
		return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.ID, b.ID))
	}
	finished := func(j store.Job) time.Time { return j.FinishedAt }
	due := func(j store.Job) time.Time { return j.RunAt }
	switch o {
	case store.OrderOldest:
		return cmp.Compare(a.ID, b.ID)
	case store.OrderFinished:
		return -byTime(finished)
	case store.OrderFinishedFirst:
		return byTime(finished)
	case store.OrderDue:
		return byTime(due)
	case store.OrderDueLast:
		return -byTime(due)
	}
	return cmp.Compare(b.ID, a.ID)
}

func place(id int64) store.Place { return store.Place{ID: id} }

// mixed makes n jobs of which every third is a mail, every fifth waits in
// another queue, and every seventh is scheduled.
func mixed(n int) []store.Request {
	out := make([]store.Request, n)
	for i := range out {
		out[i] = store.Request{Kind: "report", Queue: "default"}
		if i%3 == 0 {
			out[i].Kind = "mail"
		}
		if i%5 == 0 {
			out[i].Queue = "slow"
		}
		if i%7 == 0 {
			out[i].RunAt = time.Now().Add(time.Hour)
		}
	}
	return out
}

func TestEachJobIsOnOnePageOnlyHoweverManyArrive(t *testing.T) {
	f := open(t)
	f.enqueueMany(mixed(400))
	for name, filter := range map[string]store.Filter{
		"all": {}, "by state": {State: store.Scheduled}, "by kind": {Kind: "mail"}, "by queue": {Queue: "slow"},
		"by state and kind": {State: store.Available, Kind: "report"}, "by everything": {State: store.Available, Kind: "mail", Queue: "slow"},
	} {
		matches := func(j store.Job) bool {
			return (filter.State == "" || j.State == filter.State) && (filter.Kind == "" || j.Kind == filter.Kind) && (filter.Queue == "" || j.Queue == filter.Queue)
		}
		expected := func() int {
			return value[int](f, `select count(*) from fenceline.jobs where ($1 = '' or state::text = $1) and ($2 = '' or kind = $2) and ($3 = '' or queue = $3)`,
				filter.State, filter.Kind, filter.Queue)
		}
		before, older := expected(), map[int64]int{}
		filter.Limit = 7
		var last store.Page
		for filter.After = place(0); ; filter.After = last.Next {
			last = f.page(filter)
			for _, j := range last.Jobs {
				if older[j.ID]++; !matches(j) {
					t.Fatalf("%s: %+v", name, j)
				}
			}
			if len(older) < 3*before/4 {
				f.enqueueMany(mixed(8)) // on no page yet to come
			}
			if last.Next == place(0) {
				break
			}
			if len(last.Jobs) != 7 {
				t.Fatalf("%s: a page of %d in the middle", name, len(last.Jobs))
			}
		}
		if len(older) != before {
			t.Errorf("%s: %d jobs on the way down, want the %d that there were", name, len(older), before)
		}
		newer := map[int64]int{}
		for _, j := range last.Jobs {
			newer[j.ID]++
		}
		for back := last; back.Prev != place(0); {
			filter.After, filter.Before = place(0), back.Prev
			back = f.page(filter)
			for _, j := range back.Jobs {
				newer[j.ID]++
			}
			if len(back.Jobs) > 0 {
				// The way down again leads to what lies below.
				filter.After, filter.Before = back.Next, place(0)
				if below := f.page(filter); len(below.Jobs) == 0 || below.Jobs[0].ID != back.Next.ID-1 && below.Jobs[0].ID >= back.Jobs[len(back.Jobs)-1].ID {
					t.Fatalf("%s: below %d comes %+v", name, back.Jobs[len(back.Jobs)-1].ID, below.Jobs)
				}
			}
		}
		if after := expected(); len(newer) != after {
			t.Errorf("%s: %d jobs on the way up, want all %d", name, len(newer), after)
		}
		for _, seen := range []map[int64]int{older, newer} {
			for id, times := range seen {
				if times != 1 {
					t.Errorf("%s: job %d was on %d pages", name, id, times)
				}
			}
		}
	}
}

func TestASearchThatFindsNothingForLongSaysHowFarItLooked(t *testing.T) {
	f := open(t)
	rare := func(key string) int64 { return f.enqueue(store.Request{Kind: "rare", Key: key}) }
	oldest := rare("a")
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, store.SearchBound-1))
	middle := rare("b")
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, store.SearchBound))
	newest := rare("c")

	p := f.page(store.Filter{Kind: "rare"})
	if len(p.Jobs) != 1 || p.Jobs[0].ID != newest || p.Bound != store.SearchBound || p.Next == place(0) || p.Prev != place(0) {
		t.Fatalf("first reading: %+v", p)
	}
	p = f.page(store.Filter{Kind: "rare", After: p.Next})
	if len(p.Jobs) != 1 || p.Jobs[0].ID != middle || p.Bound != store.SearchBound || p.Next == place(0) || p.Prev == place(0) {
		t.Fatalf("second reading: %+v", p)
	}
	p = f.page(store.Filter{Kind: "rare", After: p.Next})
	if len(p.Jobs) != 1 || p.Jobs[0].ID != oldest || p.Bound != 0 || p.Next != place(0) {
		t.Fatalf("third reading: %+v", p)
	}
	// And back, in as many.
	p = f.page(store.Filter{Kind: "rare", Before: place(oldest)})
	if len(p.Jobs) != 1 || p.Jobs[0].ID != middle || p.Bound != store.SearchBound || p.Prev == place(0) {
		t.Fatalf("back: %+v", p)
	}
	p = f.page(store.Filter{Kind: "rare", Before: p.Prev})
	if len(p.Jobs) != 0 || p.Bound != store.SearchBound || p.Prev == place(0) {
		t.Fatalf("further back: %+v", p)
	}
	p = f.page(store.Filter{Kind: "rare", Before: p.Prev})
	if len(p.Jobs) != 1 || p.Jobs[0].ID != newest || p.Bound != 0 || p.Prev != place(0) {
		t.Fatalf("back at the top: %+v", p)
	}
	// A key with its kind is found at once, wherever it lies.
	if p = f.page(store.Filter{Kind: "rare", Key: "a"}); len(p.Jobs) != 1 || p.Jobs[0].ID != oldest || p.Bound != 0 || p.Next != place(0) {
		t.Errorf("by kind and key: %+v", p)
	}
	if p = f.page(store.Filter{Kind: "rare", Key: "none"}); len(p.Jobs) != 0 || p.Bound != 0 {
		t.Errorf("by a key that there is not: %+v", p)
	}
	if p = f.page(store.Filter{Kind: "rare", Key: "a", State: store.Completed}); len(p.Jobs) != 0 {
		t.Errorf("by key and another state: %+v", p)
	}
}

func TestAbsurdFiltersAreRefusedByNameAndAbsurdCursorsLeadSomewhere(t *testing.T) {
	f := open(t)
	ids := f.enqueueMany(mixed(20))
	for field, filter := range map[string]store.Filter{
		"state":  {State: "done"},
		"kind":   {Kind: "a\x00b"},
		"queue":  {Queue: wide(store.MaxQueue + 1)},
		"key":    {Key: "a\xffb"},
		"before": {Before: place(-1)},
		"after":  {After: place(math.MinInt64)},
		"order":  {Order: "best"},
		"limit":  {Limit: store.MaxPage + 1},
	} {
		_, err := f.Jobs(f.ctx, filter)
		f.wantInvalid(err, field)
	}
	_, err := f.Jobs(f.ctx, store.Filter{Before: place(5), After: place(5)})
	f.wantInvalid(err, "after")
	_, err = f.Jobs(f.ctx, store.Filter{Limit: -1})
	f.wantInvalid(err, "limit")

	for _, kind := range []string{"", "mail"} {
		for _, edge := range []int64{1, 2, ids[19].ID, ids[19].ID + 1, math.MaxInt64 - 1, math.MaxInt64} {
			for name, filter := range map[string]store.Filter{"before": {Before: place(edge), Kind: kind}, "after": {After: place(edge), Kind: kind}} {
				p := f.page(filter)
				if p.Next.ID < 0 || p.Prev.ID < 0 {
					t.Errorf("%s %d: leads to %v and %v", name, edge, p.Next, p.Prev)
				}
				for _, next := range []store.Filter{{After: p.Next, Kind: kind}, {Before: p.Prev, Kind: kind}} {
					f.page(next) // what it leads to is a page
				}
			}
		}
	}
	if p := f.page(store.Filter{Limit: store.MaxPage}); len(p.Jobs) != 20 || p.Next != place(0) || p.Prev != place(0) {
		t.Errorf("everything on one page: %d jobs, %v, %v", len(p.Jobs), p.Next, p.Prev)
	}
}

func TestAListReadsNoPayload(t *testing.T) {
	f := open(t)
	// Text that does not compress lies outside the row, in many pieces.
	big := value[string](f, "select to_jsonb(string_agg(md5(i::text), '')) from generate_series(1, 8000) i")
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report", Args: json.RawMessage(big)}}, 12))
	for _, c := range f.claimAs("a", 12) {
		f.complete("a", c.Lease, big)
	}
	worst := map[string]float64{}
	s := f.planned(func(sql string, _ bool, p plan) { worst[sql] = max(worst[sql], p.Hit+p.Read) })
	for _, filter := range []store.Filter{{}, {State: store.Completed}, {Kind: "report"}} {
		p, err := s.Jobs(f.ctx, filter)
		if err != nil || len(p.Jobs) != 12 {
			t.Fatal(len(p.Jobs), err)
		}
		for _, j := range p.Jobs {
			if j.ArgsBytes < 250000 || j.ResultBytes < 250000 {
				t.Fatalf("sizes %d and %d", j.ArgsBytes, j.ResultBytes)
			}
		}
	}
	if _, err := s.Home(f.ctx); err != nil {
		t.Fatal(err)
	}
	for sql, buffers := range worst {
		if buffers > 400 {
			t.Errorf("%.0f buffers: %s", buffers, sql)
		}
	}
	if len(worst) < 8 {
		t.Errorf("%d statements were looked at", len(worst))
	}
	// The measure can tell: one job's page reads one payload, and that shows.
	clear(worst)
	if _, err := s.JobView(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	if shown := slices.Max(slices.Collect(maps.Values(worst))); shown < 60 {
		t.Errorf("a payload was read within %.0f buffers", shown)
	}
}
