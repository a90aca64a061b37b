package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// scripted answers renewals without a database; time is the test's own.
type scripted struct {
	mu     sync.Mutex
	calls  []time.Duration // since the start, one a call
	sizes  []int
	begin  time.Time
	answer func(ctx context.Context, call int, b []store.Renewal) ([]store.Outcome, error)
}

func (s *scripted) Renew(ctx context.Context, _ string, b []store.Renewal) ([]store.Outcome, error) {
	s.mu.Lock()
	s.calls = append(s.calls, time.Since(s.begin))
	s.sizes = append(s.sizes, len(b))
	n := len(s.calls)
	s.mu.Unlock()
	if s.answer == nil {
		return accepted(b), nil
	}
	return s.answer(ctx, n, b)
}

// offered tells when renewals were offered.
func (s *scripted) offered() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func accepted(b []store.Renewal) []store.Outcome {
	out := make([]store.Outcome, len(b))
	for i, r := range b {
		out[i].Lease = r.Lease
	}
	return out
}

func (s *scripted) Claim(context.Context, store.ClaimParams) ([]store.Claimed, error) {
	return nil, nil
}
func (s *scripted) ClaimedBy(context.Context, []uuid.UUID) ([]store.Claimed, error) { return nil, nil }
func (s *scripted) Complete(context.Context, string, []store.Completion) ([]store.Outcome, error) {
	return nil, nil
}
func (s *scripted) Fail(context.Context, string, []store.Failure) ([]store.Outcome, error) {
	return nil, nil
}
func (s *scripted) Release(context.Context, string, []store.Released) ([]store.Outcome, error) {
	return nil, nil
}

// keep runs a keeper in a bubble of its own time with n attempts of a 30 s lease.
func keep(t *testing.T, s *scripted, n int, then func(p *Pool, held []*attempt)) {
	synctest.Test(t, func(t *testing.T) {
		s.begin = time.Now()
		p := newPool(s, Config{Log: slog.New(slog.DiscardHandler)})
		p.values = t.Context()
		k := &kind{name: "slow", lease: 30 * time.Second}
		var held []*attempt
		for range n {
			c := store.Claimed{Lease: store.Lease{JobID: int64(len(held) + 1), AttemptID: uuid.New(), Generation: 1}}
			held = append(held, newAttempt(p.queues[0], k, c, p.now()))
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { p.keeper.run(ctx) })
		p.keeper.add(held)
		then(p, held)
		stop()
		wg.Wait()
	})
}

// Reliability test 24: no renewal is missed, and all attempts share a batch.
func TestEveryLeaseIsRenewedAtAThirdOfIt(t *testing.T) {
	s := &scripted{}
	keep(t, s, 1200, func(p *Pool, held []*attempt) {
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, a := range held {
			if a.ctx.Err() != nil || a.check() != nil {
				t.Fatal("a lease was given up")
			}
		}
	})
	// A renewal every 9.4 s to 10 s, in three batches each.
	if n := len(s.offered()); n < 3*360 || n > 3*385 {
		t.Errorf("%d calls in an hour", n)
	}
	for _, size := range s.sizes {
		if size > maxRenewals {
			t.Fatalf("a batch of %d", size)
		}
	}
}

func TestTrustEndsBeforeTheLeaseWhenTheDatabaseDoesNotAnswer(t *testing.T) {
	s := &scripted{answer: func(ctx context.Context, _ int, _ []store.Renewal) ([]store.Outcome, error) {
		<-ctx.Done() // a connection that swallows everything
		return nil, ctx.Err()
	}}
	keep(t, s, 1, func(p *Pool, held []*attempt) {
		time.Sleep(28*time.Second - time.Millisecond)
		if err := held[0].check(); err != nil {
			t.Errorf("check = %v although the lease is still trusted", err)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !errors.Is(context.Cause(held[0].ctx), ErrLeaseLost) {
			t.Errorf("cause = %v two seconds before the lease ends", context.Cause(held[0].ctx))
		}
	})
	if len(s.offered()) < 2 {
		t.Errorf("renewals were offered at %v", s.offered())
	}
}

func TestAFailedRenewalIsRepeatedInTime(t *testing.T) {
	s := &scripted{answer: func(_ context.Context, call int, b []store.Renewal) ([]store.Outcome, error) {
		if call%4 != 0 {
			return nil, errTest
		}
		return accepted(b), nil
	}}
	keep(t, s, 3, func(p *Pool, held []*attempt) {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if held[0].check() != nil {
			t.Error("the lease was lost")
		}
	})
}

// Trust counts from when the renewal was sent: a slow answer does not stretch it.
func TestTrustCountsFromTheStartOfTheCall(t *testing.T) {
	s := &scripted{answer: func(ctx context.Context, call int, b []store.Renewal) ([]store.Outcome, error) {
		if call > 1 {
			return nil, errTest
		}
		time.Sleep(8 * time.Second)
		return accepted(b), nil
	}}
	keep(t, s, 1, func(p *Pool, held []*attempt) {
		time.Sleep(time.Minute)
		trust := time.Duration(held[0].trust.Load())
		if want := s.offered()[0] + 28*time.Second; trust != want {
			t.Errorf("trust ended at %s, want %s", trust, want)
		}
	})
}

func TestARefusedRenewalCancelsWithItsReasonAndIsNotRepeated(t *testing.T) {
	for reason, cause := range map[store.Reason]error{
		store.ReasonTerminated: ErrTerminated, store.ReasonSuperseded: ErrLeaseLost,
		store.ReasonLeaseExpired: ErrLeaseLost, store.ReasonAlreadyEnded: ErrLeaseLost, store.ReasonUnknownJob: ErrLeaseLost,
	} {
		s := &scripted{answer: func(_ context.Context, _ int, b []store.Renewal) ([]store.Outcome, error) {
			out := accepted(b)
			out[0].Err = &store.StaleError{Lease: b[0].Lease, Op: store.OpRenew, Reason: reason}
			return out, nil
		}}
		keep(t, s, 1, func(p *Pool, held []*attempt) {
			time.Sleep(time.Hour)
			var stale *store.StaleError
			got := context.Cause(held[0].ctx)
			if !errors.Is(got, cause) || !errors.As(got, &stale) || stale.Reason != reason {
				t.Errorf("%s: cause = %v", reason, got)
			}
		})
		if len(s.offered()) != 1 {
			t.Errorf("%s: %d renewals were offered", reason, len(s.offered()))
		}
	}
}

// Case B11: a process that was stopped for longer than its lease. The keeper
// finds the trust over, cancels first, and offers one more renewal.
func TestAfterALongStopTheAttemptIsCancelledBeforeTheNextRenewal(t *testing.T) {
	var cancelled atomic.Bool
	var held0 *attempt
	s := &scripted{answer: func(_ context.Context, _ int, b []store.Renewal) ([]store.Outcome, error) {
		cancelled.Store(held0.ctx.Err() != nil)
		out := accepted(b)
		out[0].Err = &store.StaleError{Lease: b[0].Lease, Op: store.OpRenew, Reason: store.ReasonLeaseExpired}
		return out, nil
	}}
	synctest.Test(t, func(t *testing.T) {
		s.begin = time.Now()
		p := newPool(s, Config{Log: slog.New(slog.DiscardHandler)})
		p.values = t.Context()
		k := &kind{name: "slow", lease: 30 * time.Second}
		held0 = newAttempt(p.queues[0], k, store.Claimed{}, p.now())
		time.Sleep(45 * time.Second) // nothing of the pool runs meanwhile
		if held0.ctx.Err() != nil {
			t.Error("cancelled by nobody")
		}
		if (attemptContext{held0.ctx, held0}).Err() == nil {
			t.Error("the handler's own look at its context does not see the end")
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { p.keeper.run(ctx) })
		p.keeper.add([]*attempt{held0})
		time.Sleep(time.Minute)
		stop()
		wg.Wait()
	})
	if len(s.offered()) != 1 || !cancelled.Load() {
		t.Errorf("renewals at %v, cancelled before: %t", s.offered(), cancelled.Load())
	}
}

// An attempt whose outcome is being offered is not renewed: the two would race
// in the database.
func TestNothingIsRenewedWhileItsOutcomeIsOffered(t *testing.T) {
	s := &scripted{}
	keep(t, s, 1, func(p *Pool, held []*attempt) {
		if !held[0].begin() {
			t.Fatal("the attempt is busy")
		}
		time.Sleep(20 * time.Second)
		if len(s.offered()) != 0 {
			t.Errorf("renewed at %v", s.offered())
		}
		held[0].writer.Store(idle)
		p.keeper.poke()
		synctest.Wait()
		if len(s.offered()) != 1 {
			t.Errorf("renewed at %v", s.offered())
		}
	})
}
