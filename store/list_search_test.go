package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/search"
)

// found is the ids that a search finds, in the order of the list.
func (f *fixture) found(text string) []int64 {
	f.t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		f.t.Fatal(err)
	}
	p := f.page(store.Filter{Query: q})
	ids := make([]int64, len(p.Jobs))
	for i, j := range p.Jobs {
		ids[i] = j.ID
	}
	count, err := f.Matching(f.ctx, store.Filter{Query: q})
	if err != nil || count != (store.Count{N: int64(len(ids))}) {
		f.t.Errorf("%s: %d jobs on the page, counted %+v %v", text, len(ids), count, err)
	}
	return ids
}

func TestEveryFieldFindsItsJobsAndNoOthers(t *testing.T) {
	f := open(t)
	plain := f.enqueue(store.Request{Kind: "mail", Queue: "a/b", Key: "x,1", Tags: []string{"urgent", "EU west"}, Args: json.RawMessage(`{"customer_id": 1970670598291982290, "n": 1.50, "ok": true, "items": [{"sku": "A-1"}], "a.b": {"": "deep"}, "none": null}`)})
	near := f.enqueue(store.Request{Kind: "mailing", Key: `say "hi"`, Args: json.RawMessage(`{"customer_id": 1970670598291982291, "ok": "true"}`)})
	text := f.enqueue(store.Request{Kind: "import", Args: json.RawMessage(`{"customer_id": "1970670598291982290", "n": "1.5"}`)})
	later := f.enqueue(store.Request{Kind: "import", RunAt: time.Now().Add(time.Hour)})
	failing := f.enqueue(store.Request{MaxAttempts: 1})
	failed := f.claim("host-a-1")
	f.fail("host-a-1", store.Failure{Lease: failed, Error: store.AttemptError{Class: "TimeoutError", Message: "ledger: 50% of calls\ntimed out"}})
	lapsing := f.enqueue(store.Request{})
	lapsed := f.claim("host-a-2")
	f.lapse(lapsing)
	f.expire()
	f.complete("host-a-2", lapsed, `1`) // too late, and refused
	f.exec("update fenceline.jobs set created_at = created_at - interval '10 days' where id = $1", plain)
	f.exec("update fenceline.jobs set created_at = '2026-01-31 23:59:59.999999+00' where id = $1", near)
	f.exec("update fenceline.jobs set created_at = '2026-02-01 00:00:00+00' where id = $1", text)
	all := []int64{lapsing, failing, later, text, near, plain}

	for text, want := range map[string][]int64{
		"":                                       all,
		"kind:mail":                              {plain},
		"kind:mail*":                             {near, plain},
		"-kind:mail*":                            {lapsing, failing, later, text},
		"kind:mail,import":                       {later, text, plain},
		"kind:MAIL":                              {},
		"queue:a/b":                              {plain},
		"-queue:a/b,default":                     {},
		`"x,1"`:                                  {plain},
		`key:"say \"hi\"" kind:mailing`:          {near},
		`key:"x,1","say \"hi\""`:                 {near, plain},
		"key:*":                                  {near, plain},
		"-key:*":                                 {lapsing, failing, later, text},
		"tag:urgent":                             {plain},
		`tag:urgent tag:"EU west"`:               {plain},
		"tag:EU*":                                {plain},
		"-tag:urgent":                            {lapsing, failing, later, text, near},
		"state:scheduled":                        {later},
		"state:scheduled,discarded":              {failing, later},
		"-state:available,discarded":             {later},
		"state:running":                          {},
		"state:running -state:running":           {},
		fmt.Sprintf("id:%d,%d", plain, later):    {later, plain},
		fmt.Sprintf("id:>%d kind:import", plain): {later, text},
		fmt.Sprintf("id:%d kind:import", plain):  {},
		fmt.Sprintf("id:%d..%d", plain, near):    {near, plain},
		fmt.Sprintf("-id:%d,%d state:available", plain, text): {lapsing, near},
		"worker:host-a*":                              {lapsing, failing},
		"worker:host-a-1":                             {failing},
		"-worker:host-a-1 worker:*":                   {lapsing},
		`error:"timed out"`:                           {failing},
		"error:timeouterror":                          {failing},
		"error:50%":                                   {failing},
		"error:ledger*":                               {failing},
		"error:500":                                   {},
		"-error:ledger state:discarded":               {},
		"error:ledger kind:import":                    {},
		"attempts:1":                                  {lapsing, failing},
		"attempts:>1":                                 {},
		"attempts:<1 kind:import":                     {later, text},
		"lease:expired":                               {lapsing},
		"lease:expired refused:yes":                   {lapsing},
		"lease:lost":                                  {lapsing},
		"lease:live,lapsed":                           {},
		"lease:live,lost":                             {lapsing},
		"-lease:lost kind:report":                     {failing},
		"refused:yes":                                 {lapsing},
		"lost:>-1h":                                   {lapsing},
		"lost:<-1h":                                   {},
		"late:>-1h lost:>-1h lease:expired":           {lapsing},
		"late:-2h..-1h":                               {},
		"-late:>-1h kind:report":                      {failing},
		"refused:no state:discarded":                  {failing},
		"-lease:expired kind:report":                  {failing},
		"refused:yes state:completed":                 {},
		"older:9d newer:11d":                          {plain},
		"newer:1h -kind:import":                       {lapsing, failing},
		"enqueued:2026-01-31":                         {near},
		"enqueued:>2026-01-31 enqueued:<=2026-02-01":  {text},
		"enqueued:>=2026-01-31 enqueued:<2026-02-02":  {text, near},
		"enqueued:2026-01-31T23:59..2026-02-01T00:00": {text, near},
		"enqueued:-11d..-9d":                          {plain},
		"finished:>-1h":                               {failing},
		"finished:<-1h":                               {},
		"-finished:>-1h":                              {lapsing, later, text, near, plain},
		"due:>now":                                    {later},
		"due:<+30m":                                   {},
		"due:<+2h":                                    {later},
		"args.customer_id:1970670598291982290":        {text, plain},
		`args.customer_id:"1970670598291982290"`:      {text},
		"args.customer_id:1970670598291982291":        {near},
		"args.customer_id:197067059829198229*":        {text, near, plain},
		"args.n:1.5":                                  {text, plain},
		"args.ok:true":                                {near, plain},
		`args.ok:"true"`:                              {near},
		"args.items.0.sku:A-1":                        {plain},
		"args.items.sku:A-1":                          {},
		`args."a.b"."":deep`:                          {plain},
		"args.none:null":                              {plain},
		"args.missing:null":                           {},
		"-args.ok:true kind:mail*":                    {},
	} {
		if got := f.found(text); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v of %v", text, got, want, all)
		}
	}
	live := f.claim("host-b")
	leases := map[string][]int64{"lease:live": {live.JobID}, "lease:lapsed": {}, "lease:lost": {}, "lease:live state:running": {live.JobID}, "-lease:live state:running": {}, "lease:live state:available": {}}
	for range 2 {
		for text, want := range leases {
			if got := f.found(text); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
		f.lapse(live.JobID)
		leases = map[string][]int64{"lease:live": {}, "lease:lapsed": {live.JobID}, "lease:lost": {}, "lease:lapsed,live": {live.JobID}, "-lease:lapsed state:running": {}}
	}
	f.consistentBut(plain, near, text)
}

// consistentBut does not hold the log against jobs that the test moved.
func (f *fixture) consistentBut(moved ...int64) {
	f.t.Helper()
	for _, id := range moved {
		f.exec("update fenceline.jobs set created_at = clock_timestamp() where id = $1", id)
	}
	f.consistent()
}

// ended makes jobs that ended at few different moments, and others.
func (f *fixture) ended(n int) {
	f.t.Helper()
	f.exec(`insert into fenceline.jobs (kind, state, finished_at, attempts_used, run_at)
		select case i % 3 when 0 then 'mail' else 'report' end,
		       (array['completed', 'discarded', 'terminated', 'scheduled', 'retryable', 'available'])[1 + i % 6]::fenceline.job_state,
		       case when i % 6 < 3 then '2026-11-01'::timestamptz + (i % 7) * interval '1 minute' end, 0,
		       '2027-01-01'::timestamptz + (i % 5) * interval '1 minute'
		from generate_series(1, $1::int) i`, n)
}

func TestInEveryOrderEachJobIsOnOnePageOnlyHoweverManyArrive(t *testing.T) {
	f := open(t)
	f.ended(300)
	for _, order := range store.Orders {
		for _, text := range []string{"", "kind:mail", "-kind:mail state:completed,terminated,retryable,available"} {
			q := parsed(text)
			seen := map[int64]int{}
			first, ok := store.Place{}, map[int64]bool{}
			for _, id := range value[[]int64](f, "select array_agg(id) from fenceline.jobs") {
				ok[id] = true
			}
			var last store.Page
			var all []store.Job
			for after := first; ; after = last.Next {
				last = f.page(store.Filter{Query: q, Order: order, After: after, Limit: 11})
				for _, j := range last.Jobs {
					seen[j.ID]++
				}
				all = append(all, last.Jobs...)
				if len(all) > 30 && len(all) < 60 {
					f.ended(6)
				}
				if last.Next == first {
					break
				}
			}
			if len(all) < 30 && text == "" {
				t.Errorf("%s: %d jobs", order, len(all))
			}
			if !slices.IsSortedFunc(all, func(a, b store.Job) int { return comparePlaces(order, a, b) }) {
				t.Errorf("%s %q: pages do not follow each other in order", order, text)
			}
			for id, times := range seen {
				if times != 1 {
					t.Errorf("%s %q: job %d was on %d pages", order, text, id, times)
				}
			}
			// Back the same way: nothing that was there before is missed.
			back := slices.Clone(last.Jobs)
			for p := last; p.Prev != first; {
				p = f.page(store.Filter{Query: q, Order: order, Before: p.Prev, Limit: 11})
				back = append(slices.Clone(p.Jobs), back...)
			}
			if !slices.IsSortedFunc(back, func(a, b store.Job) int { return comparePlaces(order, a, b) }) {
				t.Errorf("%s %q: pages back do not follow each other in order", order, text)
			}
			for _, j := range all {
				if ok[j.ID] && !slices.ContainsFunc(back, func(b store.Job) bool { return b.ID == j.ID }) {
					t.Errorf("%s %q: job %d is on no page of the way back", order, text, j.ID)
				}
			}
		}
	}
	_, err := f.Jobs(f.ctx, store.Filter{Order: store.OrderFinished, After: place(5)})
	f.wantInvalid(err, "after")
	_, err = f.Jobs(f.ctx, store.Filter{Before: store.Place{At: time.Now(), ID: 5}})
	f.wantInvalid(err, "before")
}

func TestAPlaceHasOneSpelling(t *testing.T) {
	for _, p := range []store.Place{{}, {ID: 1}, {ID: 1<<63 - 1}, {At: time.UnixMicro(1).UTC(), ID: 7}, {At: time.Date(1969, 1, 1, 0, 0, 0, 5000, time.UTC), ID: 7}, {At: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), ID: 7}} {
		if got, err := store.ParsePlace(p.String()); err != nil || got != p {
			t.Errorf("%v is written %q and reads %v %v", p, p, got, err)
		}
	}
	for _, text := range []string{"-1", "01", "1.", ".1", "1.2.3", "x", "1.x", "9223372036854775808", "1e3", " 1", "99999999999999999999.1", "1.0"} {
		if p, err := store.ParsePlace(text); err == nil {
			t.Errorf("%q reads %v", text, p)
		}
	}
}

func TestARareJobIsFoundWithEffortAndTheListSaysHowFarItLooked(t *testing.T) {
	f := open(t)
	rare := f.enqueue(store.Request{Kind: "rare"})
	f.exec("insert into fenceline.jobs (kind, state) select 'report', 'available' from generate_series(1, $1)", 3*store.SearchBound)
	if p := f.page(store.Filter{Query: parsed("kind:rare")}); len(p.Jobs) != 0 || p.Bound != store.SearchBound || p.Next.ID == 0 {
		t.Errorf("without effort: %+v", p)
	}
	if p := f.page(store.Filter{Query: parsed("kind:rare"), Effort: time.Hour}); len(p.Jobs) != 1 || p.Jobs[0].ID != rare || p.Bound != 0 || p.Next.ID != 0 {
		t.Errorf("with effort: %+v", p)
	}
	count, err := f.Matching(f.ctx, store.Filter{Query: parsed("kind:report")})
	if err != nil || !count.Capped || count.N != store.CountBound {
		t.Errorf("many are counted %+v %v", count, err)
	}
	count, err = f.Matching(f.ctx, store.Filter{Query: parsed("kind:rare")})
	if err != nil || !count.Capped || count.N != 0 {
		t.Errorf("what may lie further down is counted %+v %v", count, err)
	}
	count, err = f.Matching(f.ctx, store.Filter{})
	if err != nil || count != (store.Count{N: store.CountBound, Capped: true}) {
		t.Errorf("everything is counted %+v %v", count, err)
	}
}

func TestAReaderWhoLeavesTakesTheStatementWithThem(t *testing.T) {
	f := open(t)
	s, err := store.Open(f.ctx, store.Config{URL: f.url, LockTimeout: time.Hour, StatementTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Nobody can read the jobs until this transaction ends, which it does not.
	lock := f.connect()
	tx, err := lock.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(f.ctx, "lock table fenceline.jobs in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	waiting := func() int {
		return value[int](f, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
	reader, leave := context.WithCancel(f.ctx)
	defer leave()
	done := make(chan error, 1)
	go func() {
		_, err := s.Known(reader) // has no timeout but the server's, which is an hour
		done <- err
	}()
	f.until("the statement waits", func() bool { return waiting() == 1 })
	left := time.Now()
	leave()
	f.until("nothing waits", func() bool { return waiting() == 0 })
	t.Logf("cancelled in the database %s after the reader left", time.Since(left))
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAListGivesUpByItselfAndSaysSo(t *testing.T) {
	f := open(t)
	s, err := store.Open(f.ctx, store.Config{URL: f.url, LockTimeout: time.Hour, StatementTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(f.ctx, "lock table fenceline.jobs in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	// The server's own limit of an hour does not hold for a list.
	if _, err := s.Jobs(f.ctx, store.Filter{}); err == nil {
		t.Error("a list was read through a lock")
	}
}

func TestASearchInArgsIsKeptUnderAnIdAndRecordedWithoutWhatItAsks(t *testing.T) {
	f := open(t)
	q := parsed("args.customer_id:1970670598291982290 kind:report")
	id, err := f.KeepSearch(f.ctx, q, "oncall")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.KeptSearch(f.ctx, id)
	if err != nil || got.String() != q.String() {
		t.Errorf("%v %v", got, err)
	}
	if _, err := f.KeptSearch(f.ctx, uuid.New()); !errors.Is(err, store.ErrNoSearch) {
		t.Errorf("%v", err)
	}
	record := value[string](f, "select actor || ' ' || action || ' ' || outcome || ' ' || (detail = jsonb_build_object('search', $1::uuid)) from fenceline.audit", id)
	if record != "oncall search done true" {
		t.Errorf("recorded %q", record)
	}
	f.exec("update fenceline.searches set at = now() - interval '31 days'")
	if _, err := f.KeepSearch(f.ctx, q, "oncall"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.KeptSearch(f.ctx, id); !errors.Is(err, store.ErrNoSearch) {
		t.Errorf("a search of last month: %v", err)
	}
}

func TestKnownValuesAreThoseOfTheNewestJobs(t *testing.T) {
	f := open(t)
	f.enqueue(store.Request{Kind: "b", Tags: []string{"y", "x"}})
	f.enqueue(store.Request{Kind: "a", Queue: "slow"})
	f.enqueue(store.Request{})
	f.claim("w1")
	got, err := f.Known(f.ctx)
	want := store.Known{Kinds: []string{"a", "b", "report"}, Queues: []string{"default", "slow"}, Workers: []string{"w1"}, Tags: []string{"x", "y"}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v %v", got, err)
	}
}
