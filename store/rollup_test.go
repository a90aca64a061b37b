package store_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// countedSQL counts the log without any of what the rollup does.
const countedSQL = `
select count(*), coalesce(string_agg(concat_ws('|', extract(epoch from c.minute)::bigint, c.queue, c.kind, c.type, c.reason, c.n), e'\n' order by c.minute, c.queue, c.kind, c.type, c.reason), '')
from (
  select date_trunc('minute', t.at, 'UTC') as minute, t.queue, t.kind, t.type,
         case when t.type in ('requeued', 'terminated', 'amended', 'erased', 'noted', 'duplicated') then '' else coalesce(t.reason, '') end as reason, count(*) as n
  from fenceline.transitions t where t.type <> 'baseline'
  group by 1, 2, 3, 4, 5
) c`

const keptSQL = `
select count(*), coalesce(string_agg(concat_ws('|', extract(epoch from c.minute)::bigint, c.queue, c.kind, c.type, c.reason, c.n), e'\n' order by c.minute, c.queue, c.kind, c.type, c.reason), '')
from fenceline.rollups c`

const keptWhollySQL = `
select coalesce(string_agg(r::text, e'\n' order by r::text), '') from (
  select r::text as r from fenceline.rollups r union all select e::text from fenceline.rollup_errors e) r`

func (f *fixture) grouped(sql string) string {
	f.t.Helper()
	var groups int
	var text string
	if err := f.owner.QueryRow(f.ctx, sql).Scan(&groups, &text); err != nil {
		f.t.Fatal(err)
	}
	return text
}

// rollAll counts until the log's end is counted: writers of other databases can
// hold the horizon back for a while.
func (f *fixture) rollAll() {
	f.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		r, err := f.Roll(f.ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		if r.Counted == 0 && value[bool](f, `select not exists (select from fenceline.transitions t, fenceline.rollup_position p where (t.xid, t.id) > (p.xid, p.id))`) {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatal("the log is not counted to its end")
		}
		if r.Counted == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (f *fixture) minutes() store.Minutes {
	f.t.Helper()
	m, err := f.Minutes(f.ctx, time.Hour)
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

func total(m store.Minutes, what store.Type) (n int64) {
	for _, r := range m.Rows {
		if r.Type == what {
			n += r.N
		}
	}
	return n
}

func TestTheCountsOfTheLogAreTheLogsAndCanBeRebuilt(t *testing.T) {
	f := open(t)
	f.cast()
	f.wholeLife()
	// More than two steps, over several minutes, queues and kinds.
	f.exec(`insert into fenceline.transitions (job_id, at, type, kind, queue, reason, detail, generation)
		select i, now() - i % 5 * interval '1 minute', (array['failed', 'enqueued', 'expired'])[1 + i % 3]::fenceline.transition_type,
		       'kind' || i % 4, 'queue' || i % 3, case when i % 3 = 2 then 'budget_spent' end,
		       case when i % 3 = 0 then jsonb_build_object('class', '1:' || i % 7) end, 1
		from generate_series(100000, 112000) i`)
	f.exec(`insert into fenceline.transitions (job_id, type, kind, queue) values (1, 'baseline', 'report', 'default')`)
	before := f.minutes()
	if !before.Cut && before.Provisional == 0 {
		t.Errorf("nothing is counted yet and nothing is provisional: %d", before.Provisional)
	}
	f.rollAll()
	want := f.grouped(countedSQL)
	if got := f.grouped(keptSQL); got != want {
		t.Fatalf("counted\n%s\nwant\n%s", got, want)
	}
	if got := value[int64](f, "select sum(n) from fenceline.rollup_errors"); got < 4000 || got != value[int64](f, "select count(*) from fenceline.transitions where type = 'failed'") {
		t.Errorf("%d failures are counted by their error", got)
	}
	after := f.minutes()
	if after.Provisional != 0 || after.Cut {
		t.Errorf("all is counted and %d are provisional", after.Provisional)
	}
	if !reflect.DeepEqual(before.Rows, after.Rows) && fmt.Sprint(sortedMinutes(before)) != fmt.Sprint(sortedMinutes(after)) {
		t.Errorf("read directly\n%v\ncounted\n%v", sortedMinutes(before), sortedMinutes(after))
	}
	whole := value[string](f, keptWhollySQL)
	f.exec("update fenceline.rollups set n = n + 1")
	if _, err := f.RebuildRollups(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.rollAll()
	if got := value[string](f, keptWhollySQL); got != whole {
		t.Errorf("rebuilt\n%s\nwas\n%s", got, whole)
	}
}

func sortedMinutes(m store.Minutes) map[string]string {
	out := map[string]string{}
	for _, r := range m.Rows {
		out[fmt.Sprint(r.At, r.Queue, r.Kind, r.Type, r.Reason)] = fmt.Sprint(r.N, r.Marked, r.Spans, r.Span, r.Longest)
	}
	return out
}

// A transaction that stays open holds back what is kept and no number that is
// read; what it wrote is counted once it is there, and nothing twice.
func TestAWriterHeldOpenDelaysNoCount(t *testing.T) {
	f := open(t)
	f.rollAll()
	held := f.begin()
	f.enqueueIn(held)
	kept := value[int64](f, "select coalesce(sum(n), 0)::bigint from fenceline.rollups")
	const jobs = 20
	for range jobs {
		f.enqueue(store.Request{})
	}
	for _, c := range f.claimAs("a", jobs) {
		f.complete("a", c.Lease, "1")
	}
	for range 3 {
		if _, err := f.Roll(f.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if now := value[int64](f, "select coalesce(sum(n), 0)::bigint from fenceline.rollups"); now != kept {
		t.Errorf("%d transitions past an open transaction are kept as counted", now-kept)
	}
	m := f.minutes()
	if total(m, store.TypeCompleted) != jobs || total(m, store.TypeClaimed) != jobs || total(m, store.TypeEnqueued) != jobs || m.Provisional != 3*jobs {
		t.Errorf("%d completed, %d claimed, %d enqueued, %d provisional; want %d of each", total(m, store.TypeCompleted), total(m, store.TypeClaimed), total(m, store.TypeEnqueued), m.Provisional, jobs)
	}
	f.commit(held)
	f.rollAll()
	m = f.minutes()
	if total(m, store.TypeEnqueued) != jobs+1 || m.Provisional != 0 {
		t.Errorf("%d enqueued, %d provisional; want %d and 0", total(m, store.TypeEnqueued), m.Provisional, jobs+1)
	}
	if got, want := f.grouped(keptSQL), f.grouped(countedSQL); got != want {
		t.Errorf("counted\n%s\nwant\n%s", got, want)
	}
}

func TestManyCountersCountEachTransitionOnce(t *testing.T) {
	f := open(t)
	stop := make(chan struct{})
	var writers, counters sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for range 40 {
				if _, err := f.Enqueue(f.ctx, store.Request{Kind: "report"}); err != nil {
					t.Error(err)
				}
			}
		})
		counters.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.Roll(f.ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	counters.Wait()
	f.rollAll()
	if got := value[int64](f, "select sum(n) from fenceline.rollups"); got != 120 {
		t.Errorf("%d of 120 are counted", got)
	}
}

// What a minute says beside its number, from transitions whose times are known.
func TestAMinuteTellsTimesToStartRenewalsAtTheLastMomentAndHowLongAttemptsRan(t *testing.T) {
	f := open(t)
	f.exec(`insert into fenceline.transitions (job_id, at, type, kind, queue, generation, attempt_id, run_at, lease_until, reason)
		select 1, date_trunc('minute', now(), 'UTC') - interval '9 minutes' + s.after * interval '1 second', s.type::fenceline.transition_type, 'report', 'default', s.generation,
		       md5(s.generation::text)::uuid, date_trunc('minute', now(), 'UTC') - interval '9 minutes' + s.due * interval '1 second',
		       date_trunc('minute', now(), 'UTC') - interval '9 minutes' + s.until * interval '1 second', s.reason
		from (values (1, 0, 'enqueued', null, 2, null, null), (2, 5, 'claimed', 1, null, 15, null), (3, 8, 'renewed', 1, null, 18, null),
		             (4, 9, 'rejected', 1, null, null, 'lease_expired'), (5, 17, 'renewed', 1, null, 27, null),
		             (6, 28, 'expired', 1, 30, 27, null), (7, 34, 'claimed', 2, null, 44, null), (8, 41, 'completed', 2, null, null, null))
		  s (n, after, type, generation, due, until, reason) order by s.n`)
	f.rollAll()
	got := map[store.Type]store.Minute{}
	for _, r := range f.minutes().Rows {
		got[r.Type] = r
	}
	for _, want := range []store.Minute{
		{Type: store.TypeClaimed, N: 2, Marked: 1, Spans: 2, Span: 7 * time.Second, Longest: 4 * time.Second},
		{Type: store.TypeRenewed, N: 2, Marked: 1},
		{Type: store.TypeExpired, N: 1, Spans: 1, Span: 23 * time.Second, Longest: 23 * time.Second},
		{Type: store.TypeCompleted, N: 1, Spans: 1, Span: 7 * time.Second, Longest: 7 * time.Second},
		{Type: store.TypeRejected, Reason: string(store.ReasonLeaseExpired), N: 1},
	} {
		r := got[want.Type]
		want.At, want.Queue, want.Kind = r.At, "default", "report"
		if r != want {
			t.Errorf("%s: %+v, want %+v", want.Type, r, want)
		}
	}
}

func TestCountsGoWhenTheyAreOldAndARebuildKeepsThoseOfTheLogThatIsGone(t *testing.T) {
	f := open(t)
	f.enqueue(store.Request{Args: json.RawMessage("1")})
	f.exec(`insert into fenceline.rollups (minute, n, marked, spans, span_ms, span_max_ms, type, queue, kind, reason)
		select date_trunc('day', now(), 'UTC') - d * interval '1 day', 7, 0, 0, 0, 0, 'enqueued', 'default', 'old', '' from unnest(array[2, 40]) d`)
	f.exec(`update fenceline.retention set log_before = date_trunc('day', now(), 'UTC') - interval '1 day'`)
	if _, err := f.RebuildRollups(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.rollAll()
	if more, err := f.ForgetRollups(f.ctx, 30*24*time.Hour); err != nil || more {
		t.Fatal(more, err)
	}
	if old, new := value[int64](f, "select sum(n) from fenceline.rollups where kind = 'old'"), value[int64](f, "select sum(n) from fenceline.rollups where kind = 'report'"); old != 7 || new != 1 {
		t.Errorf("%d old and %d new are counted, want 7 and 1", old, new)
	}
	if _, err := f.ForgetRollups(f.ctx, time.Hour); err == nil {
		t.Error("counts of an hour ago could be removed")
	}
}
