package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// short is a lease that ends while another session holds the row.
const short = 400 * time.Millisecond

func (f *fixture) claimShort() store.Lease {
	f.t.Helper()
	l := f.claim("a")
	out, err := f.Renew(f.ctx, "a", []store.Renewal{{Lease: l, For: short}})
	if err != nil || out[0].Err != nil {
		f.t.Fatal(err, out)
	}
	return out[0].Lease
}

// hold begins a transaction of another session and does sql in it.
func (f *fixture) hold(sql string, args ...any) pgx.Tx {
	f.t.Helper()
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := tx.Exec(f.ctx, sql, args...); err != nil {
		f.t.Fatal(err)
	}
	return tx
}

// blocked waits until some session of this database waits for a row.
func (f *fixture) blocked() {
	f.t.Helper()
	f.until("a session waits for a lock", func() bool {
		return value[bool](f, `select exists (select from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock')`)
	})
}

// passed waits until the deadline has passed on the database's clock.
func (f *fixture) passed(deadline time.Time) {
	f.t.Helper()
	f.until("the deadline passes", func() bool { return value[bool](f, "select clock_timestamp() > $1", deadline) })
}

func (f *fixture) until(what string, done func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("in vain: %s", what)
		}
	}
}

// vacuum removes what is dead of the jobs, all of it: a snapshot in this
// database, as of an analysis that the server begins by itself, keeps it.
func (f *fixture) vacuum(options string) {
	f.t.Helper()
	f.until("nobody's snapshot keeps what is dead", func() bool {
		f.exec("vacuum " + options + " fenceline.jobs")
		return value[int](f, "select pg_stat_get_dead_tuples('fenceline.jobs'::regclass)") == 0
	})
}

// offered is every verb of an attempt, run in the background.
var offered = map[store.Op]func(*fixture, store.Lease) store.Outcome{
	store.OpComplete: func(f *fixture, l store.Lease) store.Outcome { return f.complete("a", l, `"late"`) },
	store.OpRenew:    func(f *fixture, l store.Lease) store.Outcome { return f.renew("a", l) },
	store.OpFail:     func(f *fixture, l store.Lease) store.Outcome { return f.fail("a", store.Failure{Lease: l}) },
	store.OpRelease:  func(f *fixture, l store.Lease) store.Outcome { return f.release("a", l, true) },
}

func TestAWriteThatWaitedBehindABareLockPastItsDeadlineIsRefused(t *testing.T) {
	for op, offer := range offered {
		for _, end := range []string{"commit", "rollback"} {
			for what, sql := range map[string]string{
				"locked":           "select from fenceline.jobs where id = $1 for update",
				"updated the same": "update fenceline.jobs set priority = priority where id = $1",
			} {
				t.Run(string(op)+" behind one that "+what+" and did "+end, func(t *testing.T) {
					f := open(t)
					id := f.enqueue(store.Request{})
					l := f.claimShort()
					before := f.job(id)
					holder := f.hold(sql, id)
					done := make(chan store.Outcome, 1)
					go func() { done <- offer(f, l) }()
					f.blocked()
					f.passed(l.Until)
					if end == "commit" {
						holder.Commit(f.ctx)
					} else {
						holder.Rollback(f.ctx)
					}
					f.wantStale(<-done, op, store.ReasonLeaseExpired, before)
				})
			}
		}
	}
}

// The same wait with the guard in the update's own condition, as a statement of
// one line would have it: PostgreSQL does not look again, and the late result
// is in. It is why the guard locks first and reads the clock after.
func TestABareConditionWouldHaveAcceptedTheLateResult(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claimShort()
	holder := f.hold("select from fenceline.jobs where id = $1 for update", id)
	done := make(chan int64, 1)
	session := f.connect()
	go func() {
		tag, err := session.Exec(f.ctx, `update fenceline.jobs set priority = 7
			where id = $1 and attempt_id = $2 and generation = $3 and state = 'running' and lease_until > clock_timestamp()`,
			l.JobID, l.AttemptID, l.Generation)
		if err != nil {
			t.Error(err)
		}
		done <- tag.RowsAffected()
	}()
	f.blocked()
	f.passed(l.Until)
	holder.Commit(f.ctx)
	if n := <-done; n != 1 {
		t.Errorf("%d rows: PostgreSQL now looks again, and the guard could be simpler", n)
	}
}

func TestAWriteThatWaitedWithinItsDeadlineIsAccepted(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claim("a")
	holder := f.hold("select from fenceline.jobs where id = $1 for update", id)
	done := make(chan store.Outcome, 1)
	go func() { done <- f.complete("a", l, `1`) }()
	f.blocked()
	holder.Rollback(f.ctx)
	if out := <-done; out.Err != nil {
		t.Error(out.Err)
	}
	f.consistent()
}

// What the holder committed is what the verdict sees, and what it says: a look
// at the statement's own snapshot would call it by another name.
func TestAWriteThatWaitedBehindAChangeIsRefusedByWhatTheChangeWas(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *fixture, l store.Lease)
		reason store.Reason
	}{
		"requeue": {func(f *fixture, l store.Lease) { f.operate(f.Requeue, l.JobID) }, store.ReasonAlreadyEnded},
		"requeue and a newer claim": {func(f *fixture, l store.Lease) {
			f.operate(f.Requeue, l.JobID)
			f.claim("b")
		}, store.ReasonSuperseded},
		"terminate": {func(f *fixture, l store.Lease) { f.operate(f.Terminate, l.JobID) }, store.ReasonTerminated},
		"expiry": {func(f *fixture, l store.Lease) {
			f.lapse(l.JobID)
			f.expire()
		}, store.ReasonLeaseExpired},
		"its own failure": {func(f *fixture, l store.Lease) { f.fail("a", store.Failure{Lease: l, Delay: time.Hour}) }, store.ReasonAlreadyEnded},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			id := f.enqueue(store.Request{})
			l := f.claim("a")
			other := f.enqueue(store.Request{})
			second := f.claim("a")
			// The batch locks the lower id first and waits there for a bare
			// lock; meanwhile the higher one changes and commits: the change is
			// newer than the batch's snapshot.
			holder := f.hold("select from fenceline.jobs where id = $1 for update", id)
			done := make(chan []store.Outcome, 1)
			go func() {
				out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: l, Result: []byte(`1`)}, {Lease: second, Result: []byte(`2`)}})
				if err != nil {
					t.Error(err)
				}
				done <- out
			}()
			f.blocked()
			c.change(f, second)
			before := f.job(other)
			holder.Rollback(f.ctx)
			out := <-done
			if out[0].Err != nil {
				t.Errorf("the batch's other member: %v", out[0].Err)
			}
			f.wantStale(out[1], store.OpComplete, c.reason, before)
			f.consistent()
		})
	}
}

func TestARepeatThatWaitedBehindItsFirstCopyIsASuccess(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claim("a")
	holder := f.hold("select from fenceline.jobs where id = $1 for update", id)
	done := make(chan store.Outcome, 2)
	for range 2 {
		go func() { done <- f.complete("a", l, `1`) }()
	}
	f.until("both copies wait", func() bool {
		return value[int](f, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 2
	})
	holder.Rollback(context.Background())
	first, second := <-done, <-done
	if first.Err != nil || second.Err != nil || first.Repeated == second.Repeated {
		t.Errorf("%+v %+v", first, second)
	}
	ts, _ := f.history(id)
	if len(ts) != 3 {
		t.Errorf("log %v", types(ts))
	}
	f.consistent()
}

func TestAnOperatorWhoWaitedActsOnWhatIsThere(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{})
	l := f.claim("a")
	seen := f.job(id).Revision
	holder := f.hold("select from fenceline.jobs where id = $1 for update", id)
	done := make(chan store.Outcome, 1)
	go func() { done <- f.complete("a", l, `1`) }()
	f.blocked()
	refused := make(chan error, 1)
	go func() {
		_, err := f.Requeue(f.ctx, store.OperatorParams{JobID: id, Seen: seen, Actor: "oncall", Reason: "stuck"})
		refused <- err
	}()
	f.until("the operator waits too", func() bool {
		return value[int](f, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 2
	})
	holder.Rollback(f.ctx)
	out, err := <-done, <-refused
	// Whoever comes second must see what the first one did.
	if (out.Err == nil) == (err == nil) {
		t.Errorf("completed: %v, requeued: %v", out.Err, err)
	}
	f.consistent()
}
