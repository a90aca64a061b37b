package worker

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// Case B07 and the last part of B50, reliability test 42.
func TestAJobThatKillsItsWorkerSpendsItsBudgetAndEnds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"poison", "astray"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st, url := storetest.NewWithURL(t)
			id := enqueue(t, st, store.Request{Kind: kind, MaxAttempts: 3})
			other := enqueue(t, st, store.Request{Kind: "quick", Priority: 5})
			r := role{URL: url, Kinds: []string{kind, "quick"}, Slots: 1, Lease: brief, Sweep: 20 * time.Millisecond}
			for range 3 {
				if code := spawn(t, r).awaitExit(); code == 0 || code == 1 {
					t.Fatalf("the worker process ended with %d", code)
				}
			}
			spawn(t, r)
			job := awaitState(t, st, id, store.Discarded)
			awaitState(t, st, other, store.Completed)
			if job.Attempts != 3 || job.Generation != 3 {
				t.Errorf("%d attempts, generation %d", job.Attempts, job.Generation)
			}
			expect(t, "transitions", only(transitions(t, st, id), store.TypeClaimed, store.TypeExpired, store.TypeFailed),
				"claimed", "expired", "claimed", "expired", "claimed", "expired budget_spent")
			consistent(t, st)
		})
	}
}

// Case B10.
func TestARestartedWorkerOfTheSameNameCannotSpeakForItsFormerSelf(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	id := enqueueKind(t, st, "hold")
	r := role{URL: url, Name: "app-0", Kinds: []string{"hold"}, Slots: 2, Lease: brief, Sweep: 20 * time.Millisecond}
	first := spawn(t, r)
	first.hears("started")
	first.kill()
	first.awaitExit()
	deadline := jobNow(t, st, id).LeaseUntil

	second := spawn(t, r)
	second.hears("started")
	job := jobNow(t, st, id)
	if job.Generation != 2 || job.ClaimedAt.Before(deadline) {
		t.Errorf("generation %d claimed at %s, the lease ended at %s", job.Generation, job.ClaimedAt, deadline)
	}
	if first.id() == second.id() || !strings.HasPrefix(second.id(), "app-0-") || job.Worker != second.id() {
		t.Errorf("workers %s and %s, the job's is %s", first.id(), second.id(), job.Worker)
	}
	for _, tr := range transitions(t, st, id) {
		if tr.Worker == second.id() && tr.Generation == 1 {
			t.Errorf("%s of generation 1 by the second worker", tr.Type)
		}
	}
}

// Reliability test 3: the story of the two workers.
func TestAStoppedProcessesLateResultIsRefusedAndTheSecondOnesStored(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	id := enqueueKind(t, st, "hold")
	first := spawn(t, role{URL: url, Kinds: []string{"hold"}, Slots: 1, Lease: brief, Sweep: -1})
	first.hears("started")
	first.signal(syscall.SIGSTOP)

	p := New(st, config(t))
	b := newBlocking()
	Handle(p, "hold", b.handle)
	run(t, p)
	if job := receive(t, b.started); job.Attempt.Generation != 2 {
		t.Errorf("generation = %d", job.Attempt.Generation)
	}
	first.signal(syscall.SIGCONT)
	storetest.Await(t, "the late result is refused", func() bool {
		return contains(strings.Join(refusals(t, st, id), ","), "complete superseded")
	})
	if line := first.hears("cancelled"); !contains(line, ErrLeaseLost.Error()) || !strings.HasSuffix(line, "true") {
		t.Errorf("the first handler: %s", line)
	}
	b.proceed <- nil
	job := awaitState(t, st, id, store.Completed)
	if job.ResultGeneration != 2 || result(t, st, id) != "2" {
		t.Errorf("the result %s is of generation %d", result(t, st, id), job.ResultGeneration)
	}
	for _, tr := range transitions(t, st, id) {
		if tr.Type == store.TypeRejected && (tr.Generation != 1 || tr.Worker != first.id() || tr.Detail.Current != 2) {
			t.Errorf("refused: %+v", tr)
		}
	}
	consistent(t, st)
}

// Case B11: nobody took the job meanwhile, and still nothing is revived.
func TestAStoppedProcessFindsItsLeaseOverWhenItWakes(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	id := enqueueKind(t, st, "hold")
	first := spawn(t, role{URL: url, Kinds: []string{"hold"}, Slots: 1, Lease: brief, Sweep: -1})
	first.hears("started")
	first.signal(syscall.SIGSTOP)
	storetest.Await(t, "the lease is over", func() bool {
		now, err := st.Clock(t.Context())
		return err == nil && now.After(jobNow(t, st, id).LeaseUntil)
	})
	deadline := jobNow(t, st, id).LeaseUntil
	first.signal(syscall.SIGCONT)
	// The renewal that was due is refused, too, unless its time was up before it was sent.
	storetest.Await(t, "the late result is refused", func() bool {
		return slices.Contains(refusals(t, st, id), "rejected complete lease_expired")
	})
	for _, word := range refusals(t, st, id) {
		if word != "rejected renew lease_expired" && word != "rejected complete lease_expired" {
			t.Errorf("refused: %s", word)
		}
	}
	if job := jobNow(t, st, id); !job.LeaseUntil.Equal(deadline) {
		t.Errorf("the deadline moved from %s to %s", deadline, job.LeaseUntil)
	}
	first.hears("cancelled")
}

// Reliability test 26: work goes on whoever is killed.
func TestWorkersKilledAtAnyMomentLoseNoJobAndStoreEachResultOnce(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	requests := make([]store.Request, 600)
	for i := range requests {
		requests[i] = store.Request{Kind: "quick", MaxAttempts: 50}
	}
	all, err := st.EnqueueMany(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	r := role{URL: url, Kinds: []string{"quick"}, Slots: 4, Lease: time.Second, Sweep: 20 * time.Millisecond}
	spawn(t, r)
	for range 4 {
		victim := spawn(t, r)
		id := victim.id()
		storetest.Await(t, "the victim holds a job", func() bool {
			page, err := st.Jobs(t.Context(), store.Filter{State: store.Running, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, job := range page.Jobs {
				if job.Worker == id {
					return true
				}
			}
			left, err := st.Jobs(t.Context(), store.Filter{State: store.Available, Limit: 1})
			return err == nil && len(left.Jobs) == 0
		})
		victim.kill()
	}
	for _, e := range all {
		awaitState(t, st, e.ID, store.Completed)
		if got := only(transitions(t, st, e.ID), store.TypeCompleted); len(got) != 1 {
			t.Errorf("job %d: %q", e.ID, got)
		}
	}
	consistent(t, st)
}

// Reliability test 38, case B22 for the worker.
func TestSIGTERMFinishesWhatRunsAndExitsWithZero(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	ids := []int64{enqueueKind(t, st, "short"), enqueueKind(t, st, "short"), enqueueKind(t, st, "short")}
	c := spawn(t, role{URL: url, Kinds: []string{"short"}, Slots: 3, Lease: 30 * time.Second, Sweep: 50 * time.Millisecond})
	storetest.Await(t, "all three run", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.said) == 4
	})
	c.signal(syscall.SIGTERM)
	if code := c.awaitExit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for _, id := range ids {
		if job := jobNow(t, st, id); job.State != store.Completed {
			t.Errorf("job %d is %s", id, job.State)
		}
	}
}
