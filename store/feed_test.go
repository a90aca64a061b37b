package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestTransactionsAreReadAtOnceWhateverHoldsTheHorizonBack(t *testing.T) {
	f := open(t)
	elsewhere := f.begin()
	var held uint64
	if err := elsewhere.QueryRow(f.ctx, "select pg_current_xact_id()::text::bigint").Scan(&held); err != nil {
		t.Fatal(err)
	}
	one, two := f.enqueue(store.Request{}), f.enqueue(store.Request{})
	l := f.claim("a")
	f.complete("a", l, `1`)
	ts, _ := f.history(one)
	xids := []uint64{ts[0].XID, ts[1].XID, ts[2].XID}
	others, _ := f.history(two)

	b, err := f.TransitionsOf(f.ctx, append(xids, others[0].XID), nil)
	if err != nil || len(b.Transitions) != 4 || b.More {
		t.Fatalf("%+v %v", b, err)
	}
	if b.Horizon > held || xids[0] < b.Horizon {
		t.Errorf("horizon %d with %d open and %d read: the test shows nothing", b.Horizon, held, xids[0])
	}
	if !slices.IsSortedFunc(b.Transitions, func(x, y store.Transition) int { return int(x.ID - y.ID) }) {
		t.Error("not in the order of ids")
	}
	if b, err = f.TransitionsOf(f.ctx, append(xids, others[0].XID), []int64{two}); err != nil || len(b.Transitions) != 1 || b.Transitions[0].JobID != two {
		t.Errorf("of one job: %+v %v", b, err)
	}
	for name, ask := range map[string]struct {
		xids []uint64
		jobs []int64
	}{"no transaction": {nil, nil}, "no job": {xids, []int64{}}, "another job": {xids, []int64{two}}, "an open transaction": {[]uint64{held}, nil}, "the future": {[]uint64{1 << 62}, nil}} {
		if b, err := f.TransitionsOf(f.ctx, ask.xids, ask.jobs); err != nil || len(b.Transitions) != 0 || b.Horizon == 0 {
			t.Errorf("%s: %+v %v", name, b, err)
		}
	}
	if h, err := f.Horizon(f.ctx); err != nil || h > held {
		t.Errorf("horizon %d, %v, while %d is open", h, err, held)
	}
	f.commit(elsewhere)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if h, err := f.Horizon(f.ctx); err != nil || time.Now().After(deadline) {
			t.Fatalf("horizon %d, %v, after %d was committed", h, err, held)
		} else if h > held {
			break
		}
	}
}

func TestWhatReadersMissIsReadBehindTheirCursors(t *testing.T) {
	f := open(t)
	one, two := f.enqueue(store.Request{}), f.enqueue(store.Request{})
	for range 5 {
		f.release("a", f.claim("a"), true)
	}
	first, _ := f.history(one)
	second, _ := f.history(two)
	at := func(job int64, ts []store.Transition, n int) store.Cursor {
		return store.Cursor{JobID: job, After: ts[n].ID}
	}
	for name, c := range map[string]struct {
		cursors []store.Cursor
		limit   int
		want    int
		more    bool
	}{
		"from the beginning":         {[]store.Cursor{{JobID: one}, {JobID: two}}, 1000, len(first) + len(second), false},
		"each from its own place":    {[]store.Cursor{at(one, first, 3), at(two, second, 0)}, 1000, len(first) - 4 + len(second) - 1, false},
		"nothing behind the last":    {[]store.Cursor{at(one, first, len(first)-1)}, 1000, 0, false},
		"the limit cuts":             {[]store.Cursor{{JobID: one}}, 4, 4, true},
		"the limit just holds":       {[]store.Cursor{{JobID: one}}, len(first), len(first), false},
		"one job, two readers":       {[]store.Cursor{at(one, first, 6), at(one, first, 2)}, 1000, len(first) - 3, false},
		"no such job":                {[]store.Cursor{{JobID: 1 << 40}}, 1000, 0, false},
		"nobody":                     {nil, 1000, 0, false},
		"a cursor beyond everything": {[]store.Cursor{{JobID: one, After: 1<<63 - 1}}, 1000, 0, false},
	} {
		b, err := f.TransitionsAfter(f.ctx, c.cursors, c.limit)
		if err != nil || len(b.Transitions) != c.want || b.More != c.more || b.Horizon == 0 {
			t.Errorf("%s: %d transitions, more %v, horizon %d, %v; want %d, %v", name, len(b.Transitions), b.More, b.Horizon, err, c.want, c.more)
		}
		if !slices.IsSortedFunc(b.Transitions, func(x, y store.Transition) int { return int(x.ID - y.ID) }) {
			t.Errorf("%s: not in the order of ids", name)
		}
	}
	// Cut short again and again, and asked from where it was cut, it is whole.
	var cursor store.Cursor
	var found []int64
	for cursor.JobID = one; ; {
		b, err := f.TransitionsAfter(f.ctx, []store.Cursor{cursor}, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range b.Transitions {
			found, cursor.After = append(found, tr.ID), tr.ID
		}
		if !b.More {
			break
		}
	}
	for i, tr := range first {
		if len(found) != len(first) || found[i] != tr.ID {
			t.Fatalf("found %v", found)
		}
	}
}

// A page knows its snapshot and the horizon that came with it. Whatever was
// open then, and whatever came since, is at or above that horizon.
func TestAPositionMissesNothingThatItsSnapshotDidNotHold(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claim("a")
	open := f.begin()
	if _, err := open.Exec(f.ctx, "select pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	f.renew("a", l) // a later transaction, committed before the snapshot
	view, err := f.JobView(f.ctx, id)
	if err != nil || len(view.Transitions) != 3 {
		t.Fatalf("%+v %v", view, err)
	}
	if _, err := open.Exec(f.ctx, `insert into fenceline.transitions (job_id, type, op, reason, generation, attempt_id, kind, queue)
		values ($1, 'rejected', 'renew', 'superseded', 1, gen_random_uuid(), 'report', 'default')`, id); err != nil {
		t.Fatal(err)
	}
	f.commit(open) // an earlier transaction, committed after it
	f.complete("a", l, `1`)

	b, err := f.TransitionsSince(f.ctx, []int64{id}, view.Horizon, 1000)
	if err != nil {
		t.Fatal(err)
	}
	known := map[int64]bool{}
	for _, tr := range append(view.Transitions, b.Transitions...) {
		known[tr.ID] = true
	}
	all, _ := f.history(id)
	for _, tr := range all {
		if !known[tr.ID] {
			t.Errorf("missed %s %d of transaction %d, from %d on", tr.Type, tr.ID, tr.XID, view.Horizon)
		}
	}
	if len(all) != 5 {
		t.Fatalf("%d transitions", len(all))
	}
	if b, err := f.TransitionsSince(f.ctx, []int64{id}, 0, 2); err != nil || len(b.Transitions) != 2 || !b.More {
		t.Errorf("two of all: %+v %v", b, err)
	}
	if b, err := f.TransitionsSince(f.ctx, []int64{id}, 1<<63-1, 10); err != nil || len(b.Transitions) != 0 {
		t.Errorf("from the end of time: %+v %v", b, err)
	}
	if b, err := f.TransitionsSince(f.ctx, nil, 0, 10); err != nil || len(b.Transitions) != 0 {
		t.Errorf("of no job: %+v %v", b, err)
	}
}

func TestEachTransactionIsNotifiedOnceByItsNumberAlone(t *testing.T) {
	f := open(t)
	ears := f.listener()
	f.wholeLife()
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, 300))
	var done []store.Completion
	for _, c := range f.claimAs("a", 300) {
		done = append(done, store.Completion{Lease: c.Lease})
	}
	if _, err := f.Complete(f.ctx, "a", done); err != nil {
		t.Fatal(err)
	}
	f.exec("update fenceline.jobs set state = 'scheduled', run_at = now() where id in (select id from fenceline.jobs where state = 'completed' limit 3)")
	if n, err := f.Promote(f.ctx, 10); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	if n, err := f.Promote(f.ctx, 10); err != nil || n != 0 || f.expire() != 0 || len(f.claimAs("a", 0)) != 0 {
		t.Fatal(n, err)
	}
	wrote := value[[]string](f, "select array_agg(distinct xid::text order by xid::text) from fenceline.transitions")
	var told []string
	for _, n := range f.heard(ears) {
		channel, payload, _ := strings.Cut(n, "=")
		switch channel {
		case store.ChannelTransitions:
			told = append(told, payload)
		case store.ChannelWork:
			if payload != "" {
				t.Errorf("%s carries %q", channel, payload)
			}
		}
	}
	slices.Sort(told)
	if slices.Equal(told, slices.Compact(slices.Clone(told))) == false {
		t.Errorf("a transaction was notified twice: %v", told)
	}
	// The write that named an unknown job wrote no transition, and is told
	// nevertheless: only who reads it finds that there is nothing.
	for _, xid := range wrote {
		if !slices.Contains(told, xid) {
			t.Errorf("transaction %s was not notified", xid)
		}
	}
	if extra := len(told) - len(wrote); extra > 1 {
		t.Errorf("%d notifications of %d transactions", len(told), len(wrote))
	}
}

func TestAListenersOwnNotificationReachesIt(t *testing.T) {
	f := open(t)
	ears := f.listener()
	if err := f.Notify(f.ctx, store.ChannelWork, "ping 1"); err != nil {
		t.Fatal(err)
	}
	if got := f.heard(ears); !slices.Equal(got, []string{store.ChannelWork + "=ping 1"}) {
		t.Errorf("heard %v", got)
	}
}
