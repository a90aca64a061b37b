package store_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// fixture is a store on a database of its own, with an owner's connection to
// look behind it and to move rows.
type fixture struct {
	*store.Store
	t     *testing.T
	ctx   context.Context
	url   string
	owner *pgx.Conn
}

func open(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	s, url := storetest.NewWithURL(t)
	f := &fixture{Store: s, t: t, ctx: t.Context(), url: url}
	f.owner = f.connect()
	return f
}

// connect is one more session of the owner's.
func (f *fixture) connect() *pgx.Conn {
	f.t.Helper()
	conn, err := pgx.Connect(f.ctx, f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.owner.Exec(f.ctx, sql, args...); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func value[T any](f *fixture, sql string, args ...any) T {
	f.t.Helper()
	var v T
	if err := f.owner.QueryRow(f.ctx, sql, args...).Scan(&v); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (f *fixture) enqueue(r store.Request) int64 {
	f.t.Helper()
	if r.Kind == "" {
		r.Kind = "report"
	}
	out, err := f.Enqueue(f.ctx, r)
	if err != nil {
		f.t.Fatal(err)
	}
	return out.ID
}

const lease = 30 * time.Second

// claimAs claims up to n jobs of the default queue.
func (f *fixture) claimAs(worker string, n int) []store.Claimed {
	f.t.Helper()
	claimed, err := f.Claim(f.ctx, store.ClaimParams{
		Worker: worker, Queue: store.DefaultQueue,
		Kinds: []store.KindLease{{Kind: "report", Lease: lease}}, AttemptIDs: attempts(n),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return claimed
}

func (f *fixture) claim(worker string) store.Lease {
	f.t.Helper()
	claimed := f.claimAs(worker, 1)
	if len(claimed) != 1 {
		f.t.Fatalf("claimed %d jobs, want 1", len(claimed))
	}
	return claimed[0].Lease
}

func attempts(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	return ids
}

// lapse moves the row, not the clock: the job's lease ended a moment ago, and
// began long enough before. The log is moved with it, so that it stays true.
func (f *fixture) lapse(jobs ...int64) {
	f.t.Helper()
	f.exec(`update fenceline.transitions t set lease_until = clock_timestamp() - interval '1 millisecond',
		at = least(at, clock_timestamp() - interval '2 milliseconds')
		from fenceline.jobs j where j.id = any ($1) and t.job_id = j.id and t.attempt_id = j.attempt_id
		and t.type in ('claimed', 'renewed')`, jobs)
	f.exec(`update fenceline.jobs j set lease_until = t.lease_until
		from fenceline.transitions t where j.id = any ($1) and t.job_id = j.id and t.attempt_id = j.attempt_id
		and t.type in ('claimed', 'renewed')`, jobs)
}

func (f *fixture) expire() int {
	f.t.Helper()
	n, err := f.Expire(f.ctx, 100, store.Backoff{Base: time.Second, Cap: time.Minute})
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) complete(worker string, l store.Lease, result string) store.Outcome {
	f.t.Helper()
	out, err := f.Complete(f.ctx, worker, []store.Completion{{Lease: l, Result: json.RawMessage(result)}})
	if err != nil {
		f.t.Fatal(err)
	}
	return out[0]
}

func (f *fixture) renew(worker string, l store.Lease) store.Outcome {
	f.t.Helper()
	out, err := f.Renew(f.ctx, worker, []store.Renewal{{Lease: l, For: lease}})
	if err != nil {
		f.t.Fatal(err)
	}
	return out[0]
}

func (f *fixture) fail(worker string, failure store.Failure) store.Outcome {
	f.t.Helper()
	if failure.Error.Class == "" {
		failure.Error = store.AttemptError{Class: "timeout", Message: "the ledger did not answer"}
	}
	out, err := f.Fail(f.ctx, worker, []store.Failure{failure})
	if err != nil {
		f.t.Fatal(err)
	}
	return out[0]
}

func (f *fixture) release(worker string, l store.Lease, started bool) store.Outcome {
	f.t.Helper()
	out, err := f.Release(f.ctx, worker, []store.Released{{Lease: l, Started: started}})
	if err != nil {
		f.t.Fatal(err)
	}
	return out[0]
}

func (f *fixture) job(id int64) store.Job {
	f.t.Helper()
	j, err := f.Job(f.ctx, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return j
}

func (f *fixture) history(id int64) ([]store.Transition, store.History) {
	f.t.Helper()
	ts, err := f.Transitions(f.ctx, id, 0, 100000)
	if err != nil {
		f.t.Fatal(err)
	}
	return ts, store.Fold(ts)
}

func (f *fixture) operate(do func(context.Context, store.OperatorParams) (store.Job, error), id int64) store.Job {
	f.t.Helper()
	j, err := do(f.ctx, store.OperatorParams{JobID: id, Seen: f.job(id).Revision, Actor: "oncall", Reason: "figures corrected"})
	if err != nil {
		f.t.Fatal(err)
	}
	return j
}

// consistent holds the whole log against the rows.
func (f *fixture) consistent() {
	f.t.Helper()
	ids := value[[]int64](f, "select coalesce(array_agg(id), '{}') from fenceline.jobs")
	for _, id := range ids {
		ts, h := f.history(id)
		for _, v := range append(h.Violations, h.Differences(f.job(id))...) {
			f.t.Errorf("job %d: %s: %s (transition %d)", id, v.Invariant, v.Message, v.Transition)
		}
		if f.t.Failed() {
			for _, t := range ts {
				f.t.Logf("  %+v", t)
			}
		}
	}
}

func types(ts []store.Transition) (out []store.Type) {
	for _, t := range ts {
		out = append(out, t.Type)
	}
	return out
}
