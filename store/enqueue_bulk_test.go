package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func (f *fixture) enqueueMany(requests []store.Request) []store.Enqueued {
	f.t.Helper()
	out, err := f.EnqueueMany(f.ctx, requests)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func TestABulkAnswersInTheOrderOfItsRequests(t *testing.T) {
	f := open(t)
	now, err := f.Clock(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	later := now.Add(time.Hour).Truncate(time.Microsecond)
	var requests []store.Request
	for i := range 200 {
		r := store.Request{Kind: "report", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Queue: fmt.Sprint("q", i%3), Priority: int16(i), MaxAttempts: 1 + i, Actor: "cli"}
		switch i % 5 {
		case 1:
			r.Key = fmt.Sprintf("k%03d", 999-i) // sorted, they come in another order
		case 2:
			r.RunAt = later.Add(time.Duration(i) * time.Second)
		case 3:
			r.RunAt, r.Key = now.Add(-time.Hour).Truncate(time.Microsecond), fmt.Sprintf("k%03d", i*7%200)
		case 4:
			r.Tags = []string{"bulk", fmt.Sprint(i)}
		}
		requests = append(requests, r)
	}
	out := f.enqueueMany(requests)
	for i, r := range requests {
		j := f.job(out[i].ID)
		p, _ := f.Payload(f.ctx, j.ID)
		want := store.Available
		if r.RunAt.After(now) {
			want = store.Scheduled
		}
		if string(p.Args) != fmt.Sprintf(`{"n": %d}`, i) || j.Queue != r.Queue || j.Priority != r.Priority || j.MaxAttempts != r.MaxAttempts ||
			j.Key != r.Key || j.State != want || j.EnqueuedBy != "cli" || !slices.Equal(j.Tags, r.Tags) || out[i].Existing {
			t.Fatalf("request %d: %+v with %s", i, j, p.Args)
		}
		if due := r.RunAt; due.IsZero() != j.RunAt.Equal(j.CreatedAt) || !due.IsZero() && !j.RunAt.Equal(due) {
			t.Fatalf("request %d is due %v, want %v", i, j.RunAt, due)
		}
	}
	f.consistent()
}

func TestABulkIsStoredWholeOrNotAtAll(t *testing.T) {
	f := open(t)
	taken := f.enqueue(store.Request{Key: "march", Args: json.RawMessage(`{"month":3}`)})
	before := f.stored()
	ears := f.listener()
	requests := make([]store.Request, 30)
	for i := range requests {
		requests[i] = store.Request{Kind: "report"}
	}
	for _, c := range []struct {
		field string
		bad   store.Request
	}{
		{"[17].args", store.Request{Kind: "report", Args: json.RawMessage(`{`)}},
		{"[17].args.who[1]", store.Request{Kind: "report", Args: json.RawMessage(`{"who":["a","\u0000"]}`)}},
		{"[17].kind", store.Request{}},
		{"[17].tags[0]", store.Request{Kind: "report", Tags: []string{"a\nb"}}},
		{"[17].key", store.Request{Kind: "report", Key: "a\nb"}},
		{"[17].max_attempts", store.Request{Kind: "report", MaxAttempts: -1}},
	} {
		requests[17] = c.bad
		_, err := f.EnqueueMany(f.ctx, requests)
		f.wantInvalid(err, c.field)
	}
	// These are refused only when the database has stored the others already.
	requests[17] = store.Request{Kind: "report", Key: "march", Args: json.RawMessage(`{"month":4}`)}
	var conflict *store.KeyConflictError
	if _, err := f.EnqueueMany(f.ctx, requests); !errors.As(err, &conflict) || conflict.JobID != taken {
		t.Errorf("a taken key: %v", err)
	}
	requests[17] = store.Request{Kind: "report", Key: "april", Args: json.RawMessage(`1`)}
	requests[29] = store.Request{Kind: "report", Key: "april", Args: json.RawMessage(`2`)}
	_, err := f.EnqueueMany(f.ctx, requests)
	f.wantInvalid(err, "[29].key")
	if err == nil || !strings.Contains(err.Error(), "[17]") {
		t.Errorf("the other request with the key is not named: %v", err)
	}
	if got := f.stored(); got != before {
		t.Errorf("stored (jobs, transitions) %v, want %v", got, before)
	}
	if got := f.heard(ears); len(got) != 0 {
		t.Errorf("heard %v", got)
	}
	_, err = f.EnqueueMany(f.ctx, make([]store.Request, store.MaxBulk+1))
	f.wantInvalid(err, "jobs")
	if out, err := f.EnqueueMany(f.ctx, nil); err != nil || len(out) != 0 {
		t.Errorf("an empty bulk: %v %v", out, err)
	}
}

func TestABulkKeepsTheRulesOfKeys(t *testing.T) {
	f := open(t)
	march := store.Request{Kind: "report", Key: "march"}
	id := f.enqueue(march)
	april := store.Request{Kind: "report", Key: "april"}
	out := f.enqueueMany([]store.Request{april, march, {Kind: "report"}, april, {Kind: "mail", Key: "april"}, april})
	if out[1].ID != id || !out[1].Existing {
		t.Errorf("an earlier job's key: %+v", out[1])
	}
	if out[0].Existing || !out[3].Existing || !out[5].Existing || out[3].ID != out[0].ID || out[5].ID != out[0].ID {
		t.Errorf("one key three times in a bulk: %+v", out)
	}
	if out[4].Existing || out[4].ID == out[0].ID || out[2].Existing {
		t.Errorf("other jobs: %+v", out)
	}
	if got := f.stored(); got != [2]int64{4, 4} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
	f.consistent()
}

func TestOverlappingBulksDoNotLockEachOtherOut(t *testing.T) {
	f := open(t)
	other := storetest.Open(t, store.Config{URL: f.url})
	const rounds, n = 8, 120
	for round := range rounds {
		requests := make([]store.Request, n)
		for i := range requests {
			requests[i] = store.Request{Kind: "report", Key: fmt.Sprintf("%d/%d", round, i)}
		}
		backwards := slices.Clone(requests)
		slices.Reverse(backwards)
		answers := make([][]store.Enqueued, 4)
		errs := make([]error, 4)
		var wait sync.WaitGroup
		for k := range answers {
			wait.Go(func() {
				from, mine := f.Store, requests
				if k%2 == 1 {
					from, mine = other, backwards
				}
				answers[k], errs[k] = from.EnqueueMany(f.ctx, mine)
			})
		}
		wait.Wait()
		made := 0
		for k, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if k%2 == 1 {
				slices.Reverse(answers[k])
			}
			for i, a := range answers[k] {
				if a.ID != answers[0][i].ID {
					t.Fatalf("key %s led to jobs %d and %d", requests[i].Key, a.ID, answers[0][i].ID)
				}
				if !a.Existing {
					made++
				}
			}
		}
		if made != n {
			t.Errorf("%d answers say that they made one of %d jobs", made, n)
		}
	}
	if got := f.stored(); got != [2]int64{rounds * n, rounds * n} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
	if n := value[int64](f, "select deadlocks from pg_stat_database where datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// counter counts what a store sends: statements, and the batches and copies
// that carry many.
type counter struct{ statements, batches, copies atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.statements.Add(1)
	return ctx
}
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.batches.Add(1)
	return ctx
}
func (c *counter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (c *counter) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	c.copies.Add(1)
	return ctx
}
func (c *counter) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// counted is one more store, whose statements c counts.
func (f *fixture) counted(c *counter) *store.Store {
	f.t.Helper()
	return f.countedWith(c, store.Config{URL: f.url})
}

func (f *fixture) countedWith(c *counter, cfg store.Config) *store.Store {
	f.t.Helper()
	s, err := store.OpenTraced(f.ctx, cfg, c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.Close)
	return s
}

func TestTenThousandKeylessJobsTakeAHandfulOfStatements(t *testing.T) {
	f := open(t)
	ears := f.listener()
	sent := func(n int) (calls int64, out []store.Enqueued) {
		var c counter
		s := f.counted(&c)
		requests := make([]store.Request, n)
		for i := range requests {
			requests[i] = store.Request{Kind: "report", Args: json.RawMessage(`{"month": 3}`)}
			if i%4 == 0 {
				requests[i].RunAt = time.Now().Add(time.Hour)
			}
		}
		out, err := s.EnqueueMany(f.ctx, requests)
		if err != nil {
			t.Fatal(err)
		}
		if c.copies.Load() != 2 || c.batches.Load() != 0 {
			t.Errorf("%d jobs: %d copies, %d batches", n, c.copies.Load(), c.batches.Load())
		}
		return c.statements.Load(), out
	}
	few, _ := sent(10)
	many, out := sent(10000)
	if many != few || many > 6 {
		t.Errorf("%d statements for 10 jobs, %d for 10,000", few, many)
	}
	seen := map[int64]bool{}
	for _, e := range out {
		seen[e.ID] = true
	}
	if len(seen) != 10000 {
		t.Errorf("%d different jobs", len(seen))
	}
	if got := f.heard(ears); len(got) != 4 {
		t.Errorf("heard %d notifications of two bulks, want one on each channel for each", len(got))
	}
	report, err := f.Verify(f.ctx)
	if err != nil || !report.OK || report.Jobs != 10010 || report.Transitions != 10010 {
		t.Errorf("verify: %+v %v", report, err)
	}
}

func TestKeyedJobsOfABulkShareOneRoundTrip(t *testing.T) {
	f := open(t)
	var c counter
	s := f.counted(&c)
	requests := make([]store.Request, 2000)
	for i := range requests {
		requests[i] = store.Request{Kind: "report", Key: fmt.Sprint(i)}
	}
	if _, err := s.EnqueueMany(f.ctx, requests); err != nil {
		t.Fatal(err)
	}
	if c.batches.Load() != 1 || c.copies.Load() != 0 || c.statements.Load() > 4 {
		t.Errorf("%d batches, %d copies, %d statements", c.batches.Load(), c.copies.Load(), c.statements.Load())
	}
	// A repeat of all of them changes nothing.
	out, err := s.EnqueueMany(f.ctx, requests)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out {
		if !e.Existing {
			t.Fatalf("the repeat made job %d", e.ID)
		}
	}
	if got := f.stored(); got != [2]int64{2000, 2000} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
}

func TestABulkThatTheDatabaseCutsOffLeavesNothing(t *testing.T) {
	f := open(t)
	f.exec("alter table fenceline.transitions add constraint no_more check (kind <> 'poison')")
	_, err := f.EnqueueMany(f.ctx, []store.Request{{Kind: "report"}, {Kind: "poison"}, {Kind: "report", Key: "march"}})
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		t.Errorf("got %v", err)
	}
	if got := f.stored(); got != [2]int64{} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
}
