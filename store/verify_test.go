package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

func (f *fixture) verify() store.Report {
	f.t.Helper()
	r, err := f.Verify(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// cast makes jobs in every state, with follow-ups, errors, outputs and
// refusals, and returns them by the name of what they are.
func (f *fixture) cast() map[string]int64 {
	f.t.Helper()
	names := []string{"done", "late", "failed", "running", "ended", "ready"}
	jobs := map[string]int64{}
	for _, name := range names {
		jobs[name] = f.enqueue(store.Request{Args: json.RawMessage(`"` + name + `"`)})
	}
	held := map[int64]store.Lease{}
	for _, c := range f.claimAs("a", 5) {
		held[c.Lease.JobID] = c.Lease
	}
	out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: held[jobs["done"]], Result: json.RawMessage(`1`), Output: "said",
		FollowUps: []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "mail"}}, {Name: "file", Request: store.Request{Kind: "file"}}}}})
	if err != nil || out[0].Err != nil {
		f.t.Fatal(out, err)
	}
	f.fail("a", store.Failure{Lease: held[jobs["failed"]], Delay: time.Hour, Output: "said"})
	f.lapse(jobs["late"])
	f.expire()
	f.complete("a", held[jobs["late"]], `2`)
	f.renew("a", held[jobs["running"]])
	f.operate(f.Terminate, jobs["ended"])
	return jobs
}

func TestVerifyFindsEachInvariantThatIsBrokenInTheDatabase(t *testing.T) {
	f := open(t)
	jobs := f.cast()
	change := store.Change{NewArgs: raw(`"other"`), Priority: priority(2), AddTag: "vip", Queue: "moved", RunAt: time.Now().Add(time.Hour)}
	for _, waiting := range []string{"ready", "late"} { // out of the way of the next
		if _, err := f.Amend(f.ctx, f.seen(jobs[waiting]), change); err != nil {
			t.Fatal(err)
		}
	}
	jobs["gone"] = f.enqueue(store.Request{Args: json.RawMessage(`"gone"`)})
	f.fail("a", store.Failure{Lease: f.claim("a"), Permanent: true, Output: "said"})
	f.operate(f.Erase, jobs["gone"])
	whole := f.verify()
	if !whole.OK || whole.Violations == nil || len(whole.Violations) != 0 || whole.Jobs != 9 || whole.Refused != 1 {
		t.Fatalf("the unbroken database: %+v", whole)
	}
	last := func(job, typ string) string {
		return fmt.Sprintf("(select max(id) from fenceline.transitions where job_id = %d and type = '%s')", jobs[job], typ)
	}
	id := func(job string) string { return fmt.Sprint(jobs[job]) }
	for _, c := range []struct {
		invariant, job, sql string
	}{
		{"I1", "running", `update fenceline.transitions set generation = 7 where id = ` + last("running", "claimed")},
		{"I1", "late", `update fenceline.transitions set attempt_id = null where id = ` + last("late", "claimed")},
		{"I2", "running", `update fenceline.transitions set at = at + interval '1 day' where id = ` + last("running", "renewed")},
		{"I2", "running", `insert into fenceline.transitions (job_id, type, generation, attempt_id, lease_until, kind, queue)
			select job_id, 'renewed', 99, attempt_id, lease_until, kind, queue from fenceline.transitions where id = ` + last("running", "renewed")},
		{"I3", "failed", `insert into fenceline.transitions (job_id, type, generation, attempt_id, revision, from_state, to_state, attempts_used, max_attempts, kind, queue)
			select job_id, 'expired', generation, attempt_id, revision + 1, from_state, to_state, attempts_used, max_attempts, kind, queue from fenceline.transitions where id = ` + last("failed", "failed")},
		{"I3", "late", `update fenceline.transitions set at = at - interval '1 hour' where id = ` + last("late", "expired")},
		{"I4", "done", `update fenceline.transitions set attempt_id = gen_random_uuid() where id = ` + last("done", "completed")},
		{"I4", "done", `update fenceline.transitions set lease_until = at - interval '1 hour', at = at - interval '2 hours' where id = ` + last("done", "claimed")},
		{"I4", "done", `update fenceline.jobs set result_attempt_id = gen_random_uuid() where id = ` + id("done")},
		{"I4", "late", `update fenceline.jobs set result = '2', result_attempt_id = attempt_id, result_generation = generation where id = ` + id("late")},
		{"I5", "ready", `update fenceline.jobs set state = 'discarded', finished_at = now() where id = ` + id("ready")},
		{"I5", "running", `update fenceline.jobs set generation = generation + 1 where id = ` + id("running")},
		{"I5", "running", `update fenceline.jobs set lease_until = lease_until + interval '1 second' where id = ` + id("running")},
		{"I5", "failed", `update fenceline.jobs set run_at = now() where id = ` + id("failed")},
		{"I5", "failed", `update fenceline.jobs set revision = revision + 1 where id = ` + id("failed")},
		{"I5", "failed", `delete from fenceline.transitions where id = ` + last("failed", "failed")},
		{"I5", "ready", `delete from fenceline.transitions where job_id = ` + id("ready")},
		{"I5", "ready", `delete from fenceline.jobs where id = ` + id("ready")},
		{"I5", "last", `insert into fenceline.transitions (job_id, type, kind, queue) values (999999, 'enqueued', 'report', 'default')`},
		{"I6", "late", `insert into fenceline.attempt_errors (job_id, generation, at, attempt_id, class, message, fingerprint)
			select job_id, generation, at, attempt_id, 'x', 'x', 'x' from fenceline.transitions where id = ` + last("late", "rejected")},
		{"I6", "late", `insert into fenceline.attempt_outputs (job_id, generation, at, attempt_id, output)
			select job_id, generation, at, attempt_id, 'x' from fenceline.transitions where id = ` + last("late", "rejected")},
		{"I7", "failed", `update fenceline.transitions set attempts_used = 0 where id = ` + last("failed", "failed")},
		{"I7", "running", `update fenceline.transitions set attempts_used = 11 where id = ` + last("running", "claimed")},
		{"I8", "late", `update fenceline.transitions set detail = detail || '{"result": "4111 1111"}' where id = ` + last("late", "rejected")},
		{"I8", "failed", `update fenceline.transitions set detail = jsonb_build_object('class', repeat('x', 4200)) where id = ` + last("failed", "failed")},
		{"I9", "ended", `insert into fenceline.transitions (job_id, type, generation, attempt_id, revision, from_state, to_state, attempts_used, max_attempts, kind, queue)
			select job_id, 'completed', generation, attempt_id, revision + 1, 'terminated', 'completed', attempts_used, max_attempts, kind, queue from fenceline.transitions where id = ` + last("ended", "terminated")},
		{"I11", "ready", `delete from fenceline.args_versions`},
		{"I11", "late", `insert into fenceline.args_versions select job_id, 7 + version, replaced_at, replaced_by, args from fenceline.args_versions`},
		{"I11", "done", `insert into fenceline.args_versions select ` + id("done") + `, version, replaced_at, replaced_by, args from fenceline.args_versions where job_id = ` + id("late")},
		{"I11", "gone", `update fenceline.jobs set args = '1' where id = ` + id("gone")},
		{"I11", "gone", `update fenceline.jobs set request_hash = '1', key = 'k' where id = ` + id("gone")},
		{"I11", "gone", `update fenceline.attempt_errors set message = 'x' where job_id = ` + id("gone")},
		{"I11", "gone", `insert into fenceline.attempt_outputs select job_id, generation, at, attempt_id, 'x' from fenceline.attempt_errors where job_id = ` + id("gone")},
		{"I5", "gone", `update fenceline.jobs set erased_at = null where id = ` + id("gone")},
		{"I5", "done", `update fenceline.jobs set erased_at = now() where id = ` + id("done")},
		{"I5", "ready", `update fenceline.jobs set args_version = 3 where id = ` + id("ready")},
		{"I5", "ready", `update fenceline.jobs set priority = 3 where id = ` + id("ready")},
		{"I5", "ready", `update fenceline.jobs set queue = 'default' where id = ` + id("ready")},
		{"I5", "ready", `update fenceline.jobs set tags = null where id = ` + id("ready")},
		{"I10", "done", `delete from fenceline.jobs where follow_name = 'mail'`},
		{"I10", "ready", `insert into fenceline.jobs (kind, parent_id, follow_name) values ('mail', ` + id("ready") + `, 'mail')`},
		{"I10", "done", `update fenceline.transitions set detail = null where id = ` + last("done", "completed")},
	} {
		jobs["last"] = 999999
		f.broken(c.sql, func(r store.Report) {
			if r.OK || !slices.ContainsFunc(r.Violations, func(v store.Violation) bool {
				return v.Invariant == c.invariant && v.JobID == jobs[c.job] && v.Message != ""
			}) {
				t.Errorf("%s: want %s of job %d, found %+v", c.sql, c.invariant, jobs[c.job], r.Violations)
			}
			f.checksWhatAFoldFinds(c.sql)
		})
	}
	if r := f.verify(); !r.OK {
		t.Errorf("after all was put back: %+v", r)
	}
}

// broken lets look see the database with a change of the owner's, and then
// takes the change back: the report is made of what was changed alone.
func (f *fixture) broken(sql string, look func(store.Report)) {
	f.t.Helper()
	tables := []string{"jobs", "args_versions", "transitions", "attempt_errors", "attempt_outputs"}
	for _, table := range tables {
		f.exec(fmt.Sprintf("create temporary table kept_%s as select * from fenceline.%s", table, table))
	}
	tag, err := f.owner.Exec(f.ctx, sql)
	if err != nil || tag.RowsAffected() == 0 {
		f.t.Fatalf("%s: %v, %d rows", sql, err, tag.RowsAffected())
	}
	look(f.verify())
	for _, table := range tables {
		f.exec(fmt.Sprintf("delete from fenceline.%s", table))
		f.exec(fmt.Sprintf("insert into fenceline.%s select * from kept_%s", table, table))
		f.exec("drop table kept_" + table)
	}
}

func TestVerifyTellsEveryOrphanAndEveryJobWithoutItsLog(t *testing.T) {
	f := open(t)
	ids := make([]int64, 6)
	for i := range ids {
		ids[i] = f.enqueue(store.Request{})
	}
	f.exec("delete from fenceline.transitions where job_id = any ($1)", ids[:2])
	f.exec("delete from fenceline.jobs where id = any ($1)", ids[4:])
	r := f.verify()
	found := map[int64]string{}
	for _, v := range r.Violations {
		found[v.JobID] = v.Invariant
	}
	if r.OK || len(r.Violations) != 4 || found[ids[0]] != "I5" || found[ids[1]] != "I5" || found[ids[4]] != "I5" || found[ids[5]] != "I5" {
		t.Errorf("%+v", r)
	}
	if r.Jobs != 4 || r.Transitions != 4 {
		t.Errorf("%d jobs, %d transitions", r.Jobs, r.Transitions)
	}
}

func TestVerifyListsABoundedNumberOfViolations(t *testing.T) {
	f := open(t)
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, 1500))
	f.exec("update fenceline.jobs set revision = 5, max_attempts = 11")
	r := f.verify()
	if r.OK || len(r.Violations) != 1000 || r.Jobs != 1500 {
		t.Errorf("ok %v, %d violations of %d jobs", r.OK, len(r.Violations), r.Jobs)
	}
}

// Writers go on while the log is read: what they commit meanwhile belongs to
// no reading, whole or in half.
func TestVerifyReadsOneSnapshotOfTwentyThousandJobsWhileWritersGoOn(t *testing.T) {
	f := open(t)
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, 20000))
	ctx, stop := context.WithCancel(f.ctx)
	var wait sync.WaitGroup
	worked := make([]int, 2)
	for k := range worked {
		wait.Go(func() { worked[k] = f.work(ctx, fmt.Sprint("w", k)) })
	}
	if r := f.verify(); !r.OK || r.Jobs < 20000 || r.Transitions < r.Jobs {
		t.Errorf("ok %v, %d jobs, %d transitions, %.3v", r.OK, r.Jobs, r.Transitions, r.Violations)
	}
	stop()
	wait.Wait()
	for k, n := range worked {
		if n == 0 {
			t.Errorf("writer %d did nothing meanwhile", k)
		}
	}
	if r := f.verify(); !r.OK {
		t.Errorf("at the end: %.3v", r.Violations)
	}
}

// work claims, renews, completes, fails and enqueues until it is told to stop,
// and returns how many jobs it had.
func (f *fixture) work(ctx context.Context, worker string) (n int) {
	for ctx.Err() == nil {
		claimed, err := f.Claim(ctx, store.ClaimParams{Worker: worker, Queue: store.DefaultQueue,
			Kinds: []store.KindLease{{Kind: "report", Lease: lease}}, AttemptIDs: attempts(20)})
		if err != nil || len(claimed) == 0 {
			break
		}
		var renewals []store.Renewal
		var completions []store.Completion
		for i, c := range claimed {
			renewals = append(renewals, store.Renewal{Lease: c.Lease, For: lease})
			if i%4 == 0 {
				c.Lease.AttemptID = uuid.Must(uuid.NewV7())
			}
			done := store.Completion{Lease: c.Lease, Result: json.RawMessage(`1`)}
			if i%5 == 1 {
				done.FollowUps = []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "mail"}}}
			}
			completions = append(completions, done)
		}
		if _, err := f.Renew(ctx, worker, renewals); err != nil {
			break
		}
		if _, err := f.Complete(ctx, worker, completions); err != nil {
			break
		}
		n += len(claimed)
	}
	if ctx.Err() == nil {
		f.t.Error("a writer stopped early")
	}
	return n
}

// meanwhile does something just before each statement that begins with a text.
type meanwhile struct {
	before string
	do     func()
}

func (m meanwhile) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(strings.TrimSpace(data.SQL), m.before) {
		m.do()
	}
	return ctx
}

func (meanwhile) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestVerifyIsNotMisledByWhatIsCommittedBetweenItsReadings(t *testing.T) {
	f := open(t)
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report", MaxAttempts: 1}}, 20))
	for _, before := range []string{"declare log", "declare follow_ups", "fetch 2000", "fetch 5000 from log", "fetch 5000 from follow_ups", "select e.job_id", "select t.job_id"} {
		done := 0
		s, err := store.OpenTraced(f.ctx, store.Config{URL: f.url}, meanwhile{before, func() {
			done++
			out, err := f.Complete(f.ctx, "a", []store.Completion{{Lease: f.claim("a"), FollowUps: []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "mail"}}}}})
			if err != nil || out[0].Err != nil {
				t.Error(out, err)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Verify(f.ctx)
		s.Close()
		if err != nil || !r.OK {
			t.Errorf("a completion before %q: %+v %v", before, r, err)
		}
		if done == 0 {
			t.Errorf("no statement begins with %q", before)
		}
	}
}
