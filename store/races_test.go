package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestThirtyTwoClaimersTakeEachOfAThousandJobsOnce(t *testing.T) {
	f := open(t)
	requests := make([]store.Request, 1000)
	for i := range requests {
		requests[i].Kind = "report"
	}
	if _, err := f.EnqueueMany(f.ctx, requests); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	taken := map[int64]int{}
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for {
				claimed, err := f.Claim(f.ctx, store.ClaimParams{Worker: fmt.Sprint(w), Queue: "default", AttemptIDs: attempts(7),
					Kinds: []store.KindLease{{Kind: "report", Lease: lease}}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, c := range claimed {
					taken[c.Lease.JobID]++
				}
				all := len(taken) == 1000
				mu.Unlock()
				if all {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, n := range taken {
		if n != 1 {
			t.Errorf("job %d was claimed %d times", id, n)
		}
	}
	if n := value[int](f, "select count(*) from fenceline.transitions where type = 'claimed' and generation = 1"); n != 1000 {
		t.Errorf("%d first generations", n)
	}
	f.consistent()
}

// A completion, a renewal and the sweep meet on the deadline: whatever the
// order, one attempt has one end and the loser's write is on record.
func TestACompletionAndASweepNeverBothWin(t *testing.T) {
	f := open(t)
	const rounds = 500
	requests := make([]store.Request, rounds)
	for i := range requests {
		requests[i] = store.Request{Kind: "report", MaxAttempts: 1}
	}
	if _, err := f.EnqueueMany(f.ctx, requests); err != nil {
		t.Fatal(err)
	}
	var completed, expired int
	for round := range rounds {
		claimed, err := f.Claim(f.ctx, store.ClaimParams{Worker: "a", Queue: "default", AttemptIDs: attempts(1),
			Kinds: []store.KindLease{{Kind: "report", Lease: time.Duration(500+round*7) * time.Microsecond}}})
		if err != nil || len(claimed) != 1 {
			t.Fatal(err, claimed)
		}
		var out store.Outcome
		var swept int
		var wg sync.WaitGroup
		wg.Go(func() { out = f.complete("a", claimed[0].Lease, `1`) })
		wg.Go(func() {
			for swept == 0 && f.job(claimed[0].Lease.JobID).State == store.Running {
				swept = f.expire()
			}
		})
		wg.Wait()
		for out.Err != nil && swept == 0 {
			swept = f.expire()
		}
		if (out.Err == nil) == (swept == 1) {
			t.Fatalf("round %d: completed %v, swept %d", round, out.Err, swept)
		}
		completed, expired = completed+1-swept, expired+swept
	}
	t.Logf("%d completed, %d expired", completed, expired)
	if completed == 0 || expired == 0 {
		t.Error("the race was never close")
	}
	if n := value[int](f, "select count(*) from fenceline.transitions where type = 'rejected' and op = 'complete'"); n != expired {
		t.Errorf("%d refusals on record for %d lost completions", n, expired)
	}
	f.consistent()
}

// The sweep has chosen its rows and waits nowhere: what it skips because
// another session works on it is judged by that session's outcome.
func TestASweepNeverTouchesWhatChangedUnderIt(t *testing.T) {
	f := open(t)
	ids := []int64{f.enqueue(store.Request{}), f.enqueue(store.Request{}), f.enqueue(store.Request{})}
	claimed := f.claimAs("a", 3)
	f.lapse(ids...)
	before := f.job(ids[0])
	// The first is being taken over by hand while the sweep runs.
	holder := f.hold(`update fenceline.jobs set lease_until = clock_timestamp() + interval '1 hour' where id = $1`, ids[0])
	if n := f.expire(); n != 2 {
		t.Errorf("expired %d, want the two others", n)
	}
	holder.Rollback(f.ctx)
	if !equal(f.job(ids[0]), before) {
		t.Error("the held row changed")
	}
	if n := f.expire(); n != 1 {
		t.Errorf("then expired %d, want 1", n)
	}
	f.wantStale(f.complete("a", claimed[0].Lease, `1`), store.OpComplete, store.ReasonLeaseExpired, f.job(claimed[0].Lease.JobID))
	f.consistent()
}

func TestExpiredRowsBehindAFullBatchOfLockedOnesAreNotStarved(t *testing.T) {
	f := open(t)
	requests := make([]store.Request, 150)
	for i := range requests {
		requests[i].Kind = "report"
	}
	out, err := f.EnqueueMany(f.ctx, requests)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, o := range out {
		ids = append(ids, o.ID)
	}
	f.claimAs("a", 150)
	f.lapse(ids...)
	holder := f.hold("select from fenceline.jobs where id = any ($1) for update", ids[:100])
	if n := f.expire(); n != 50 {
		t.Errorf("expired %d of the 50 behind", n)
	}
	holder.Rollback(f.ctx)
	if n := f.expire(); n != 100 {
		t.Errorf("then expired %d, want 100", n)
	}
	f.consistent()
}

func TestManySweepersExpireEachAttemptOnce(t *testing.T) {
	f := open(t)
	requests := make([]store.Request, 400)
	for i := range requests {
		requests[i].Kind = "report"
	}
	if _, err := f.EnqueueMany(f.ctx, requests); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, c := range f.claimAs("a", 400) {
		ids = append(ids, c.Lease.JobID)
	}
	f.lapse(ids...)
	var total int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for n := 1; n > 0; {
				n = f.expire()
				mu.Lock()
				total += n
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n := 1; n > 0; total += n {
		n = f.expire()
	}
	if total != 400 {
		t.Errorf("expired %d, want 400", total)
	}
	f.consistent()
}

func TestBatchesThatOverlapDoNotLockEachOtherOut(t *testing.T) {
	f := open(t)
	requests := make([]store.Request, 300)
	for i := range requests {
		requests[i].Kind = "report"
	}
	if _, err := f.EnqueueMany(f.ctx, requests); err != nil {
		t.Fatal(err)
	}
	claimed := f.claimAs("a", 300)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for round := range 10 {
				batch := make([]store.Renewal, len(claimed))
				for i := range claimed {
					// Each worker names the same jobs in another order.
					batch[i] = store.Renewal{Lease: claimed[(i*(2*w+1)+round)%len(claimed)].Lease, For: lease}
				}
				if _, err := f.Renew(f.ctx, "a", batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 40 {
		id := claimed[i*7].Lease.JobID
		wg.Go(func() {
			if _, err := f.Requeue(f.ctx, store.OperatorParams{JobID: id, Seen: 2, Actor: "oncall", Reason: "move"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.consistent()
}
