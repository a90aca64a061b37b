package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// Two processes remove what is old, while others claim, renew, complete and
// requeue, and while whoever removes is cut off again and again in the middle
// of what it does.
func TestTwoSweepersThatAreKilledAllTheTimeRemoveWhatIsOldAndNothingElse(t *testing.T) {
	f := open(t)
	const many = 3000
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, many))
	for done := 0; done < many/2; {
		claimed := f.claimAs("past", 500)
		batch := make([]store.Completion, len(claimed))
		for i, c := range claimed {
			batch[i] = store.Completion{Lease: c.Lease, Result: json.RawMessage(`1`), Output: "said"}
			if i%10 == 0 {
				batch[i].FollowUps = []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "mail"}}}
			}
		}
		if _, err := f.Complete(f.ctx, "past", batch); err != nil {
			t.Fatal(err)
		}
		done += len(claimed)
	}
	finished := value[[]int64](f, "select array_agg(id) from fenceline.jobs where state = 'completed'")
	f.past(40)
	f.enqueueMany(slices.Repeat([]store.Request{{Kind: "report"}}, 500))

	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	var writers, sweepers sync.WaitGroup
	worked := make([]int, 2)
	for k := range worked {
		writers.Go(func() { worked[k] = f.churn(ctx, fmt.Sprint("w", k)) })
	}
	// Operators run some of the old ones again, which removes them from what is old.
	var again []int64
	writers.Go(func() {
		for _, id := range finished[:60] {
			j, err := f.Job(ctx, id)
			if err == nil {
				_, err = f.Requeue(ctx, store.OperatorParams{JobID: id, Seen: j.Revision, Actor: "oncall", Reason: "again"})
			}
			if err == nil {
				again = append(again, id)
			} else if !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	over := func() bool {
		return value[bool](f, `select jobs_next is not null and log_pass is null and log_before is not null
			and not exists (select from fenceline.jobs where finished_at < now() - interval '30 days') from fenceline.retention`)
	}
	var steps, cut atomic.Int64
	for range 2 {
		s := storetest.Open(t, store.Config{URL: named(t, f.url, "sweeper")})
		sweepers.Go(func() {
			for ctx.Err() == nil {
				_, busy, first := s.RemoveJobs(ctx, keep)
				more, second := s.ShortenLog(ctx, keep)
				if !busy && !more {
					time.Sleep(time.Millisecond)
				}
				for _, err := range []error{first, second} {
					var told *pgconn.PgError
					switch {
					case err == nil:
						steps.Add(1)
					case errors.As(err, &told) && told.Code != "57P01":
						t.Error(err)
					default:
						cut.Add(1)
					}
				}
			}
		})
	}
	killed := int64(0)
	for end := time.Now().Add(2 * time.Minute); cut.Load() < 6 || !over(); time.Sleep(5 * time.Millisecond) {
		f.exec("update fenceline.retention set jobs_next = null where jobs_next is not null and $1", cut.Load() < 6)
		if n := steps.Load(); cut.Load() < 6 && n > killed+2 {
			f.exec(`select pg_terminate_backend(pid) from pg_stat_activity
				where application_name = 'sweeper' and datname = current_database() and state <> 'idle'`)
			killed = n
		}
		if time.Now().After(end) {
			t.Errorf("after %d steps, %d of them cut off, it is not over: %s", steps.Load(), cut.Load(),
				value[string](f, "select row_to_json(r)::text from fenceline.retention r"))
			break
		}
	}
	stop()
	sweepers.Wait()
	writers.Wait()
	for k, n := range worked {
		if n == 0 {
			t.Errorf("writer %d did nothing meanwhile", k)
		}
	}
	left := f.ids()
	for _, id := range again {
		if !slices.Contains(left, id) {
			t.Errorf("job %d was removed after it had been requeued", id)
		}
	}
	if n := value[int](f, "select count(*) from fenceline.jobs where kind = 'report' and state not in ('completed')") +
		value[int](f, "select count(*) from fenceline.jobs where kind = 'report' and state = 'completed' and finished_at > now() - interval '1 day'"); n != many-len(finished)+500+len(again) {
		t.Errorf("%d jobs live or have just finished, want %d waiting, 500 new and %d requeued", n, many-len(finished), len(again))
	}
	if r := f.holds(); r.LogBefore.IsZero() || r.JobsBefore.IsZero() {
		t.Errorf("%+v", r)
	}
	if n := value[int](f, "select count(*) from fenceline.transitions where at < now() - interval '31 days'"); n != 0 {
		t.Errorf("%d old transitions are left", n)
	}
	t.Logf("%d steps, %d cut off, writers did %v jobs", steps.Load(), cut.Load(), worked)
}

// Cut off just before each statement of a step, a process leaves nothing half
// done, and another one goes on from there.
func TestAStepThatIsCutOffLeavesTheLogAsItWas(t *testing.T) {
	f := open(t)
	f.cast()
	f.past(31)
	f.shortenUntil("a pass has begun", keep, "select log_pass is not null from fenceline.retention")
	for _, before := range []string{"with looked", "select t.id", "insert into fenceline.transitions", "update fenceline.retention set log_after", "select fenceline.drop_log"} {
		if before == "select fenceline.drop_log" {
			f.shortenUntil("the baselines are written", keep, "select log_after is null from fenceline.retention")
		}
		cut := 0
		s, err := store.OpenTraced(f.ctx, store.Config{URL: named(t, f.url, "sweeper")}, meanwhile{before, func() {
			cut++
			f.exec("select pg_terminate_backend(pid, 30000) from pg_stat_activity where application_name = 'sweeper' and datname = current_database()")
		}})
		if err != nil {
			t.Fatal(err)
		}
		was := f.standing()
		for end := time.Now().Add(time.Minute); cut == 0 && time.Now().Before(end); {
			if more, err := s.ShortenLog(f.ctx, keep); cut > 0 && (more || err == nil) {
				t.Errorf("before %q: more %v, %v", before, more, err)
			}
		}
		s.Close()
		if cut != 1 || f.standing() != was {
			t.Errorf("cut off %d times before %q: %s, was %s", cut, before, f.standing(), was)
		}
		f.holds()
	}
	f.shortenLog(keep)
	f.consistent()
	f.holds()
}

// standing is how far the shortening of the log has come.
func (f *fixture) standing() string {
	f.t.Helper()
	return value[string](f, `select row_to_json(r)::text || (select count(*) from fenceline.transitions) from fenceline.retention r`) + fmt.Sprint(f.partitions())
}

// churn claims, renews and completes for as long as there is anything.
func (f *fixture) churn(ctx context.Context, worker string) (n int) {
	for ctx.Err() == nil {
		claimed, err := f.Claim(ctx, store.ClaimParams{Worker: worker, Queue: store.DefaultQueue,
			Kinds: []store.KindLease{{Kind: "report", Lease: time.Hour}}, AttemptIDs: attempts(5)})
		if err != nil {
			break
		}
		renewals, completions := make([]store.Renewal, len(claimed)), make([]store.Completion, len(claimed))
		for i, c := range claimed {
			renewals[i] = store.Renewal{Lease: c.Lease, For: time.Hour}
			completions[i] = store.Completion{Lease: c.Lease, Result: json.RawMessage(`2`)}
		}
		out, err := f.Renew(ctx, worker, renewals)
		if err != nil {
			break
		}
		done, err := f.Complete(ctx, worker, completions)
		if err != nil {
			break
		}
		for _, o := range append(out, done...) {
			if o.Err != nil {
				f.t.Errorf("%s: %v", worker, o.Err)
			}
		}
		n += len(claimed)
	}
	if ctx.Err() == nil {
		f.t.Error("a writer stopped early")
	}
	return n
}

// named is an address whose sessions can be told from others.
func named(t *testing.T, address, application string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", application)
	u.RawQuery = q.Encode()
	return u.String()
}
