package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// wholeLife takes jobs through every verb and returns what the log says of
// them, without ids and moments: the same on every database.
func (f *fixture) wholeLife() (told []string) {
	f.t.Helper()
	ids := []int64{f.enqueue(store.Request{Key: "march"}), f.enqueue(store.Request{Key: "april", MaxAttempts: 2}), f.enqueue(store.Request{})}
	if again := f.enqueue(store.Request{Key: "march"}); again != ids[0] {
		f.t.Errorf("the repeat made job %d beside %d", again, ids[0])
	}
	many, err := f.EnqueueMany(f.ctx, []store.Request{{Kind: "report"}, {Kind: "report", Key: "march"}, {Kind: "report", Key: "may"}})
	if err != nil || many[1].ID != ids[0] || !many[1].Existing {
		f.t.Fatalf("bulk: %+v %v", many, err)
	}
	ids = append(ids, many[0].ID, many[2].ID)
	slices.Sort(ids)

	a := f.claim("a")
	if out := f.renew("a", a); out.Err != nil {
		f.t.Error(out.Err)
	}
	f.lapse(a.JobID)
	f.expire()
	b := f.claimAs("b", 10)
	f.complete("a", a, `"late"`)
	held := map[int64]store.Lease{}
	for _, c := range b {
		held[c.Lease.JobID] = c.Lease
	}
	out, err := f.Complete(f.ctx, "b", []store.Completion{{Lease: held[ids[0]], Result: json.RawMessage(`1970670598291982290`),
		FollowUps: []store.FollowUp{{Name: "mail", Request: store.Request{Kind: "mail"}}}}})
	if err != nil || out[0].Err != nil {
		f.t.Fatalf("complete: %+v %v", out, err)
	}
	f.fail("b", store.Failure{Lease: held[ids[1]], Delay: 400 * 24 * time.Hour})
	f.release("b", held[ids[2]], false)
	f.operate(f.Terminate, ids[3])
	f.operate(f.Requeue, ids[4])
	f.operate(f.Requeue, ids[1])
	f.complete("c", store.Lease{JobID: 1 << 62, AttemptID: uuid.Must(uuid.NewV7()), Generation: 1 << 33}, `1`)

	for _, c := range f.claimAs("c", 10) {
		f.complete("c", c.Lease, `2`)
	}
	for _, id := range ids {
		ts, h := f.history(id)
		first := f.job(id).Generation - int64(len(h.Lanes))
		for _, t := range ts {
			if t.Type == store.TypeBaseline {
				t.Type, t.Generation = store.TypeEnqueued, 0
			}
			story := fmt.Sprintf("%s %s>%s %s %s used %d of %d", t.Type, t.From, t.To, t.Op, t.Reason, t.Attempts, t.MaxAttempts)
			if t.Generation > 0 {
				story += fmt.Sprintf(" generation %d", t.Generation-first)
			}
			if t.Type == store.TypeFailed {
				story += fmt.Sprint(" in ", t.RunAt.Sub(t.At))
			}
			if t.Type == store.TypeClaimed || t.Type == store.TypeRenewed && t.LeaseUntil.After(t.At.Add(time.Second)) {
				story += fmt.Sprint(" for ", t.LeaseUntil.Sub(t.At).Round(time.Hour))
			}
			told = append(told, story)
		}
	}
	f.consistent()
	return told
}

func TestTheWholeLifeOfJobsWorksBeyond32Bits(t *testing.T) {
	f := open(t)
	small := f.wholeLife()
	f.exec("truncate fenceline.jobs, fenceline.args_versions, fenceline.transitions, fenceline.attempt_errors, fenceline.unknown_writes, fenceline.audit")
	names := value[[]string](f, `select array_agg(format('%I.%I', schemaname, sequencename)) from pg_sequences where schemaname = 'fenceline' and sequencename not like 'schema_version%'`)
	if len(names) < 4 {
		t.Fatalf("sequences %v", names)
	}
	for _, name := range names {
		f.exec("alter sequence " + name + " restart with 3000000000")
	}
	// Every job that is made from now on has been claimed 2^31 times; its log
	// begins with a baseline, as after its oldest part was dropped.
	f.exec("alter table fenceline.jobs alter generation set default 2147483648")
	f.exec("create function wide() returns trigger language plpgsql as $$ begin new.type := 'baseline'; new.generation := 2147483648; return new; end $$")
	f.exec("create trigger wide before insert on fenceline.transitions for each row when (new.type = 'enqueued') execute function wide()")

	large := f.wholeLife()
	if !slices.Equal(small, large) {
		t.Errorf("beyond 32 bits the story is another one:\n%v\n%v", small, large)
	}
	if id := value[int64](f, "select min(id) from fenceline.jobs"); id < 3000000000 {
		t.Errorf("job ids begin at %d", id)
	}
	if id := value[int64](f, "select min(job_id) from fenceline.unknown_writes"); id != 1<<62 {
		t.Errorf("the unknown job is on record as %d", id)
	}
	page, err := f.Jobs(f.ctx, store.Filter{})
	if err != nil || len(page.Jobs) != 6 || page.Jobs[0].Generation < 1<<31 {
		t.Errorf("%+v %v", page, err)
	}
	ts, _ := f.history(page.Jobs[len(page.Jobs)-1].ID)
	batch, err := f.TransitionsAfter(f.ctx, []store.Cursor{{JobID: ts[0].JobID, After: ts[0].ID}}, 100)
	if err != nil || len(batch.Transitions) != len(ts)-1 {
		t.Errorf("after the first of %d transitions: %d, %v", len(ts), len(batch.Transitions), err)
	}
	if r, err := f.Verify(f.ctx); err != nil || !r.OK {
		t.Errorf("verify: %+v %v", r, err)
	}
	if _, err := f.TransitionsOf(f.ctx, []uint64{1 << 40, 1<<63 - 1}, []int64{1 << 40}); err != nil {
		t.Errorf("transactions beyond 32 bits: %v", err)
	}
}

func TestNoColumnIsTooNarrowForAnIdOrWithoutItsZone(t *testing.T) {
	f := open(t)
	narrow := value[[]string](f, `
		select coalesce(array_agg(table_name || '.' || column_name || ' ' || data_type), '{}')
		from information_schema.columns
		where table_schema = 'fenceline' and table_name not like 'schema_version%'
		  and (data_type in ('integer', 'smallint') and column_name not in ('attempts_used', 'max_attempts', 'priority')
		    or data_type in ('timestamp without time zone', 'time without time zone', 'real', 'character', 'character varying'))`)
	if len(narrow) != 0 {
		t.Errorf("too narrow: %v", narrow)
	}
	if n := value[int](f, `select count(*) from information_schema.columns where table_schema = 'fenceline' and data_type = 'bigint'`); n < 20 {
		t.Errorf("only %d columns of 64 bits were looked at", n)
	}
	cached := value[[]string](f, `select coalesce(array_agg(sequencename::text), '{}') from pg_sequences
		where schemaname = 'fenceline' and sequencename not like 'schema_version%' and (cache_size <> 1 or data_type::text <> 'bigint' or cycle)`)
	if len(cached) != 0 {
		t.Errorf("sequences that cache, cycle or are narrow: %v", cached)
	}
}
