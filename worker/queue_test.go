package worker

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestAnAnnouncedJobStartsWithoutWaitingForThePoll(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cfg := config(t)
	cfg.Poll = time.Hour
	p := New(st, cfg)
	HandleNoop(p)
	run(t, p)
	var waits []time.Duration
	for range 50 {
		id := enqueueKind(t, st, "noop")
		var job store.Job
		storetest.Await(t, "the job was claimed", func() bool { job = jobNow(t, st, id); return !job.ClaimedAt.IsZero() })
		waits = append(waits, job.ClaimedAt.Sub(job.CreatedAt))
	}
	slices.Sort(waits[5:])
	t.Logf("median wait %s", waits[27])
	if waits[27] > 250*time.Millisecond {
		t.Errorf("the median wait is %s", waits[27])
	}
}

func TestAJobThatNobodyAnnouncedIsFoundByPolling(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	p := New(st, config(t))
	HandleNoop(p)
	run(t, p)
	storetest.Await(t, "the pool waits", func() bool { return p.Stats().Claims > 1 })
	var id int64
	if err := owner(t, url).QueryRow(t.Context(), "select id from fenceline.enqueue('noop', notify => false)").Scan(&id); err != nil {
		t.Fatal(err)
	}
	awaitState(t, st, id, store.Completed)
}

// Case B14 for the pool's own listener.
func TestAKilledListenerComesBackAndMissesNothing(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	cfg := config(t)
	cfg.Poll = time.Hour
	p := New(st, cfg)
	HandleNoop(p)
	run(t, p)
	conn := owner(t, url)
	for range 3 {
		storetest.Await(t, "a listener was there to be killed", func() bool {
			var n int
			err := conn.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
				where datname = current_database() and query ilike 'listen %' and state = 'idle'`).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n == 1
		})
		awaitState(t, st, enqueueKind(t, st, "noop"), store.Completed)
	}
}

func TestAnnouncementsForOthersDoNotBecomeEmptyClaims(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cfg := config(t)
	cfg.Poll = time.Hour
	wake := make(chan struct{})
	cfg.Wake = wake
	p := New(st, cfg)
	HandleNoop(p)
	run(t, p)
	begun := time.Now()
	for range 20000 {
		wake <- struct{}{}
	}
	for end := begun.Add(300 * time.Millisecond); time.Now().Before(end); {
		wake <- struct{}{}
	}
	claims := p.Stats().Claims
	if most := int64(time.Since(begun)/maxQuiet) + 20; claims > most {
		t.Errorf("%d claims in %s, want at most %d", claims, time.Since(begun), most)
	}
	id := enqueueKind(t, st, "noop")
	wake <- struct{}{}
	awaitState(t, st, id, store.Completed)
}

func TestAPoolClaimsOnlyWhatItCanStartAndHandles(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cfg := config(t)
	cfg.Queues = map[string]int{"default": 2, "side": 1}
	p := New(st, cfg)
	b, side := newBlocking(), newBlocking()
	Handle(p, "slow", b.handle)
	Handle(p, "side", side.handle)
	ids := []int64{}
	for range 5 {
		ids = append(ids, enqueueKind(t, st, "slow"))
	}
	beside := enqueue(t, st, store.Request{Kind: "side", Queue: "side"})
	foreign := enqueueKind(t, st, "foreign")
	elsewhere := enqueue(t, st, store.Request{Kind: "slow", Queue: "elsewhere"})
	run(t, p)
	receive(t, b.started)
	receive(t, b.started)
	receive(t, side.started)
	side.proceed <- nil
	awaitState(t, st, beside, store.Completed)
	// This announcement reaches the full queue too.
	beside2 := enqueue(t, st, store.Request{Kind: "side", Queue: "side"})
	receive(t, side.started)
	running := 0
	for _, id := range ids {
		if jobNow(t, st, id).State == store.Running {
			running++
		}
	}
	if running != 2 || p.Stats().Running != 3 {
		t.Errorf("%d jobs are running in 2 slots", running)
	}
	side.proceed <- nil
	for range ids {
		b.proceed <- nil
	}
	for _, id := range append(ids, beside2) {
		awaitState(t, st, id, store.Completed)
	}
	for _, id := range []int64{foreign, elsewhere} {
		if job := jobNow(t, st, id); job.State != store.Available || job.Generation != 0 {
			t.Errorf("job %d of kind %s in queue %s is %s", id, job.Kind, job.Queue, job.State)
		}
	}
}

func TestSweepersOfManyPoolsExpireAndPromoteEachJobOnce(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	var ids []int64
	for range 30 {
		ids = append(ids, enqueueKind(t, st, "slow"))
	}
	// Claimed by somebody who is gone.
	kinds := []store.KindLease{{Kind: "slow", Lease: time.Minute}}
	if got, err := st.Claim(t.Context(), store.ClaimParams{Worker: "gone", Queue: "default", Kinds: kinds, AttemptIDs: newAttemptIDs(30)}); err != nil || len(got) != 30 {
		t.Fatal(got, err)
	}
	later := enqueue(t, st, store.Request{Kind: "slow", RunAt: time.Now().Add(time.Hour)})
	do(t, owner(t, url), "update fenceline.jobs set run_at = clock_timestamp() + interval '300 milliseconds' where id = $1", later)
	for range 3 {
		p := New(st, config(t))
		Handle(p, "slow", handler(func(context.Context, Job[json.RawMessage]) error { return nil }))
		run(t, p)
	}
	awaitState(t, st, later, store.Completed)
	do(t, owner(t, url), "update fenceline.jobs set lease_until = clock_timestamp() where worker = 'gone'")
	for _, id := range ids {
		job := awaitState(t, st, id, store.Completed)
		expect(t, "transitions", only(transitions(t, st, id), store.TypeExpired, store.TypePromoted, store.TypeRejected), "expired")
		if job.Generation != 2 {
			t.Errorf("generation = %d", job.Generation)
		}
	}
	expect(t, "the later one", only(transitions(t, st, later), store.TypePromoted), "promoted")
}

func TestWorkerIDsAreNewAtEachStart(t *testing.T) {
	t.Parallel()
	a, b := newID("app-0"), newID("app-0")
	if a == b || a[:6] != "app-0-" || len(a) != 6+freshLetters {
		t.Errorf("ids %q and %q", a, b)
	}
	if got := newID("a\nb\x00\xff"); got[:3] != "ab-" {
		t.Errorf("id %q", got)
	}
	ids := newAttemptIDs(1000)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	if len(slices.Compact(ids)) != 1000 || ids[0].Version() != 4 {
		t.Error("attempt ids repeat")
	}
}
