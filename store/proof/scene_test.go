package proof

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// scene is one job of a directed test. Its attempts are numbers, as elsewhere.
type scene struct {
	*subject
	t   *testing.T
	ctx context.Context
}

func newScene(t *testing.T, stage *Stage) *scene {
	s := &scene{subject: &subject{Stage: stage, names: newNames()}, t: t, ctx: t.Context()}
	s.key = fmt.Sprintf("%016x", s.salt)
	var a Answer
	if s.id, a = s.enqueue(s.ctx, Call{Verb: Enqueue, Budget: 5}); a.Verdict != Accepted {
		panic(misstep{fmt.Errorf("enqueue: %s", a)})
	}
	return s
}

func (s *scene) lease(by Fence) store.Lease {
	return store.Lease{JobID: s.id, AttemptID: s.names.id(by.Attempt), Generation: by.Generation}
}

// claimFor claims the scene's job under a lease of that length.
func (s *scene) claimFor(attempt int, lease time.Duration) (Fence, time.Time) {
	s.t.Helper()
	claimed, err := s.store.Claim(s.ctx, store.ClaimParams{
		Worker: "worker", Queue: queue, Kinds: []store.KindLease{{Kind: kind, Lease: lease}}, AttemptIDs: []uuid.UUID{s.names.id(attempt)},
	})
	if err != nil || len(claimed) != 1 || claimed[0].Lease.JobID != s.id {
		panic(misstep{fmt.Errorf("claim: %+v, %w", claimed, err)})
	}
	return Fence{attempt, claimed[0].Lease.Generation}, claimed[0].Lease.Until
}

// lock holds the row in another session until the returned function is called.
func (s *scene) lock() (release func()) {
	s.t.Helper()
	tx, err := s.owner.Begin(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Exec(s.ctx, lockSQL, s.id); err != nil {
		s.t.Fatal(err)
	}
	return func() { tx.Rollback(context.WithoutCancel(s.ctx)) }
}

// until polls the database for a fact.
func (s *scene) until(sql string, args ...any) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		var done bool
		if err := s.owner.QueryRow(s.ctx, sql, args...).Scan(&done); err != nil {
			s.t.Fatal(err)
		}
		if done {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("in vain: %s", sql)
		}
	}
}

const waitsSQL = `select exists (select from pg_stat_activity where datname = current_database() 
  and backend_type = 'client backend' and wait_event_type = 'Lock')`

// answerOrWait returns the answer, or says that its session waits for a lock.
func (s *scene) answerOrWait(answer chan Answer) (a Answer, waited bool) {
	for {
		select {
		case a := <-answer:
			return a, false
		case <-time.After(2 * time.Millisecond):
		}
		if err := s.owner.QueryRow(s.ctx, waitsSQL).Scan(&waited); err != nil {
			s.t.Fatal(err)
		}
		if waited {
			return Answer{}, true
		}
	}
}

func (s *scene) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.owner.Exec(s.ctx, sql, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) must(c Call) error {
	if a := s.perform(s.ctx, c, 0); a.Verdict != Accepted {
		return fmt.Errorf("%s: %s", c, a)
	}
	return nil
}
