package events_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

// A writing transaction stays open elsewhere: deliveries do not wait for it,
// only the resume position does, the lag is shown, and what it wrote itself is
// behind the position when it commits.
//
// Not parallel: it holds back the horizon of every database of the server.
func TestALongTransactionHoldsBackThePositionAndNoDelivery(t *testing.T) {
	f := open(t)
	hub := f.live(events.Config{PingEvery: 50 * time.Millisecond, DeadAfter: 10 * time.Second})
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(f.ctx)
	late, err := f.EnqueueTx(f.ctx, tx, store.Request{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	var open uint64
	if err := tx.QueryRow(f.ctx, `select pg_current_xact_id()::text::bigint`).Scan(&open); err != nil {
		t.Fatal(err)
	}
	job := f.enqueue(1)[0]
	both := []int64{job, late.ID}
	r := f.watch(hub, both, fromStart(both...))
	l := f.claimOne()
	for range 20 {
		f.renewOne(l)
		r.untilStored(f, job)
	}
	f.eventually("the lag is shown", func() bool { return hub.Status().Behind > 200*time.Millisecond })
	if !hub.Status().Live {
		t.Error("a lag of the position is called an interruption")
	}
	if r.position > open {
		t.Errorf("the position %d is past the open transaction %d", r.position, open)
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	r.untilStored(f, late.ID)
	r.until(t, "the position moves on", func() bool { return r.position > open })
	f.eventually("the lag is gone", func() bool { return hub.Status().Behind == 0 })
	f.completeOne(l)
	again := f.watch(hub, both, events.From{Position: r.position})
	again.until(t, "the end", func() bool { return slices.Contains(again.types, store.TypeCompleted) })
}

// Resuming at every position that was ever handed out loses nothing.
//
// Not parallel: making another test's database holds back the horizon too.
func TestEveryPositionIsSafeToResumeFrom(t *testing.T) {
	f := open(t)
	hub := f.live(events.Config{PingEvery: 5 * time.Millisecond})
	jobs := f.enqueue(40) // more than the hub asks about one by one
	const renewals = 40   // so many that the position moves often where they take little time
	r := f.watch(hub, jobs, fromStart(jobs...))
	type mark struct {
		position uint64
		seen     int // transitions delivered up to it
	}
	var marks []mark
	var order [][2]int64
	stop := make(chan error, 4)
	for range 4 {
		go func() { stop <- work(f.ctx, f.Store, 3, renewals) }()
	}
	total := len(jobs) * (3 + renewals)
	late := time.After(patience)
	for n := 0; n < total; {
		select {
		case d, ok := <-r.sub.C:
			if !ok {
				t.Fatal(r.sub.Err())
			}
			r.take(d)
			for _, tr := range d.Transitions {
				order = append(order, [2]int64{tr.JobID, tr.ID})
			}
			n = len(order)
			marks = append(marks, mark{d.Position, n})
		case <-late:
			t.Fatalf("%d of %d came", n, total)
		}
	}
	for range 4 {
		if err := <-stop; err != nil {
			t.Error(err)
		}
	}
	for _, m := range marks {
		batch, err := f.TransitionsSince(f.ctx, jobs, m.position, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		have := map[[2]int64]bool{}
		for _, o := range order[:m.seen] {
			have[o] = true
		}
		for _, tr := range batch.Transitions {
			have[[2]int64{tr.JobID, tr.ID}] = true
		}
		if len(have) != total {
			t.Errorf("resuming at %d after %d transitions shows %d of %d", m.position, m.seen, len(have), total)
		}
	}
	if moved := slices.CompactFunc(slices.Clone(marks), func(a, b mark) bool { return a.position == b.position }); len(moved) < 5 {
		t.Errorf("the position moved only %d times", len(moved))
	}
}
