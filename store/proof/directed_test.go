package proof

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// directed are the tests of what chance seldom meets. Each says what is wrong.
var directed = []struct {
	name  string
	check func(*testing.T, *Stage) error
}{
	{"late write behind a bare lock", lateWrite},
	{"repeat that waited for a newer claim", waitingRepeat},
	{"repeat after its log was dropped", forgottenRepeat},
	{"held rows are stepped over", heldRow},
	{"claim on an old snapshot", oldSnapshot},
	{"write to a job that is gone", goneJob},
	{"a walk along every edge", everyEdge},
}

// check leaves no job behind that the next check could claim. A step that a check
// takes for granted and that goes wrong is what is wrong.
func check(t *testing.T, stage *Stage, of func(*testing.T, *Stage) error) (wrong error) {
	t.Helper()
	defer func() {
		if m, missed := recover().(misstep); missed {
			wrong = m
		}
		if err := stage.tidy(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	return of(t, stage)
}

type misstep struct{ error }

func TestTheDirectedChecksFindNothingWrong(t *testing.T) {
	stage := stages(t, 1)[0]
	for _, d := range directed {
		t.Run(d.name, func(t *testing.T) {
			if err := check(t, stage, d.check); err != nil {
				t.Error(err)
			}
		})
	}
}

// lateWrite offers each verb while the lease lives, behind a session that holds
// the row, changes nothing, and lets go when the deadline has passed.
func lateWrite(t *testing.T, stage *Stage) error {
	var wrong error
	for _, verb := range []Verb{Renew, Complete, Fail, Release} {
		s := newScene(t, stage)
		for attempt, lease := 1, 100*time.Millisecond; ; attempt, lease = attempt+1, 2*lease {
			inTime, a := s.late(verb, attempt, lease)
			if !inTime {
				s.owner.Exec(s.ctx, "update fenceline.jobs set state = 'available', attempt_end = 'released', max_attempts = 20 where id = $1", s.id)
				continue
			}
			if a.Verdict != Verdict(store.ReasonLeaseExpired) {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %s", verb, a))
			}
			break
		}
		if err := stage.tidy(s.ctx); err != nil {
			return err
		}
	}
	return wrong
}

// late reports whether the write was waiting before its deadline passed, as the
// test means it to.
func (s *scene) late(verb Verb, attempt int, lease time.Duration) (inTime bool, a Answer) {
	by, deadline := s.claimFor(attempt, lease)
	release := s.lock()
	defer release()
	answer := make(chan Answer, 1)
	go func() { answer <- s.perform(s.ctx, Call{Verb: verb, By: by, Started: true}, 0) }()
	s.until(waitsSQL)
	if err := s.owner.QueryRow(s.ctx, "select clock_timestamp() < $1", deadline).Scan(&inTime); err != nil {
		s.t.Fatal(err)
	}
	s.until("select clock_timestamp() > $1", deadline)
	release()
	return inTime, <-answer
}

// waitingRepeat offers a failure again in a batch that waits for another job,
// while the first copy is accepted and the job claimed anew.
func waitingRepeat(t *testing.T, stage *Stage) error {
	first, second := newScene(t, stage), newScene(t, stage)
	a, _ := first.claimFor(1, longLease)
	b, _ := second.claimFor(1, longLease)
	release := first.lock()
	defer release()
	type answer struct {
		out []store.Outcome
		err error
	}
	done := make(chan answer, 1)
	go func() {
		out, err := stage.store.Fail(t.Context(), "worker", []store.Failure{{Lease: first.lease(a)}, {Lease: second.lease(b)}})
		done <- answer{out, err}
	}()
	first.until(waitsSQL)
	if got := second.perform(t.Context(), Call{Verb: Fail, By: b}, 0); got.Verdict != Accepted {
		return fmt.Errorf("the first copy: %s", got)
	}
	second.claimFor(2, longLease)
	release()
	got := <-done
	if got.err != nil {
		return got.err
	}
	if v := offered(got.out[1]); v.Verdict != Repeated {
		return fmt.Errorf("the repeat: %s", v)
	}
	return nil
}

// goneJob offers each verb to a job that no row is left of: the refusal is all
// that tells of it.
func goneJob(t *testing.T, stage *Stage) error {
	s := newScene(t, stage)
	by, _ := s.claimFor(1, longLease)
	gone := s.lease(by)
	gone.JobID += 1 << 40
	defer s.owner.Exec(context.WithoutCancel(s.ctx), "delete from fenceline.unknown_writes where job_id = $1", gone.JobID)
	renewed, err1 := s.store.Renew(s.ctx, "worker", []store.Renewal{{Lease: gone, For: longLease}})
	completed, err2 := s.store.Complete(s.ctx, "worker", []store.Completion{{Lease: gone}})
	failed, err3 := s.store.Fail(s.ctx, "worker", []store.Failure{{Lease: gone}})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for n, out := range [][]store.Outcome{renewed, completed, failed} {
		if v := offered(out[0]); v.Verdict != Verdict(store.ReasonUnknownJob) {
			return fmt.Errorf("write %d: %s", n, v)
		}
	}
	var recorded int
	err := s.owner.QueryRow(s.ctx, "select count(*) from fenceline.unknown_writes where job_id = $1", gone.JobID).Scan(&recorded)
	if err == nil && recorded != 3 {
		err = fmt.Errorf("%d of 3 refusals are recorded", recorded)
	}
	return err
}

// forgottenRepeat drops a result's transition, as retention does in time: the
// row still knows whose result it holds.
func forgottenRepeat(t *testing.T, stage *Stage) error {
	s := newScene(t, stage)
	by, _ := s.claimFor(1, longLease)
	if err := s.must(Call{Verb: Complete, By: by}); err != nil {
		return err
	}
	if err := s.must(Call{Verb: Requeue, Seen: 3}); err != nil {
		return err
	}
	s.claimFor(2, longLease)
	if _, err := s.owner.Exec(s.ctx, "delete from fenceline.transitions where job_id = $1 and generation = 1", s.id); err != nil {
		t.Fatal(err)
	}
	if a := s.perform(s.ctx, Call{Verb: Complete, By: by}, 0); a.Verdict != Repeated {
		return fmt.Errorf("the repeat: %s", a)
	}
	return nil
}

// heldRow asks for a row that another session has changed and not committed:
// claims and sweeps leave it for later.
func heldRow(t *testing.T, stage *Stage) error {
	var wrong error
	for _, c := range []Call{{Verb: ClaimJob, By: Fence{Attempt: 1}}, {Verb: Expire}, {Verb: Promote}} {
		s := newScene(t, stage)
		switch c.Verb {
		case Expire:
			s.claimFor(2, longLease)
			s.perform(s.ctx, Call{Verb: Lapse}, 0)
		case Promote:
			s.owner.Exec(s.ctx, "update fenceline.jobs set state = 'scheduled' where id = $1", s.id)
		}
		release := s.lock()
		answer := make(chan Answer, 1)
		go func() { answer <- s.perform(s.ctx, c, 0) }()
		if a, waited := s.answerOrWait(answer); waited || a != (Answer{}) {
			wrong = errors.Join(wrong, fmt.Errorf("%s of a held row: %s, waited %v", c.Verb, a, waited))
			release()
			if waited {
				<-answer
			}
		}
		release()
		if err := stage.tidy(s.ctx); err != nil {
			return err
		}
	}
	return wrong
}

// gateSQL makes each look of the store at one job wait for an advisory lock,
// while the snapshot of its statement grows old.
const gateSQL = `
create function fenceline.gate(id bigint) returns boolean language plpgsql as $$
begin
  if id = %[1]d then perform pg_advisory_xact_lock(%[1]d); end if;
  return true;
end $$;
create policy gate on fenceline.jobs using (fenceline.gate(id));
alter table fenceline.jobs enable row level security`

const openGateSQL = `
alter table fenceline.jobs disable row level security;
drop policy gate on fenceline.jobs;
drop function fenceline.gate(bigint)`

// oldSnapshot claims a job that was claimed and requeued since the claim's
// snapshot: what the row was then must not be mixed with what it is now.
func oldSnapshot(t *testing.T, stage *Stage) error {
	gate, err := stage.store.Enqueue(t.Context(), store.Request{Kind: kind, Queue: queue, Priority: -1})
	if err != nil {
		return err
	}
	s := newScene(t, stage)
	s.exec("update fenceline.jobs set max_attempts = 1 where id = $1", s.id)
	s.exec(fmt.Sprintf(gateSQL, gate.ID), pgx.QueryExecModeSimpleProtocol)
	defer s.exec(openGateSQL, pgx.QueryExecModeSimpleProtocol)
	holder, err := s.owner.Begin(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(s.ctx)
	if _, err := holder.Exec(s.ctx, "select pg_advisory_xact_lock($1)", gate.ID); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		claimed, err := s.store.Claim(s.ctx, store.ClaimParams{
			Worker: "worker", Queue: queue, Kinds: []store.KindLease{{Kind: kind, Lease: longLease}}, AttemptIDs: []uuid.UUID{s.names.id(2), s.names.id(3)},
		})
		if err == nil && len(claimed) != 2 {
			err = fmt.Errorf("claimed %d jobs, want the gate and the one behind", len(claimed))
		}
		done <- err
	}()
	s.until(waitsSQL)
	s.exec(`update fenceline.jobs set generation = 1, revision = 3, attempts_used = 1, max_attempts = 2,
		attempt_id = $2, attempt_end = 'requeued', lease_until = clock_timestamp(), claimed_at = clock_timestamp() where id = $1`, s.id, s.names.id(1))
	holder.Rollback(s.ctx)
	if err := <-done; err != nil {
		return err
	}
	want := Row{State: store.Running, Revision: 4, Generation: 2, Used: 2, Budget: 2, Args: 1}
	got := s.perform(s.ctx, Call{Verb: Read}, 0).Row
	if got.Attempt = 0; got != want {
		return fmt.Errorf("the row is %s, want %s", got, want)
	}
	return nil
}
