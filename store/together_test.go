package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// gathering is a store whose first two calls of Enqueue wait behind a lock of the
// whole table, which release gives up: those after them gather.
func (f *fixture) gathering() (s *store.Store, release func()) {
	f.t.Helper()
	tx := f.hold("lock table fenceline.jobs in share mode")
	return storetest.Open(f.t, store.Config{URL: f.url, LockTimeout: time.Minute, StatementTimeout: time.Minute}),
		func() { tx.Rollback(context.Background()) }
}

func TestCallsThatComeTogetherShareAStatementAndEachGetsItsOwnJob(t *testing.T) {
	f := open(t)
	const callers = 40
	due := time.Now().Add(time.Hour)
	s, release := f.gathering()
	defer release()
	got := make([]store.Enqueued, callers)
	errs := make([]error, callers)
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() {
			r := store.Request{Kind: fmt.Sprint("kind", i%3), Queue: fmt.Sprint("queue", i%2), Priority: int16(i), MaxAttempts: 1 + i,
				Args: json.RawMessage(fmt.Sprintf(`{"i": %d}`, i)), Actor: fmt.Sprint("caller", i)}
			if i%4 == 0 {
				r.RunAt = due
			}
			got[i], errs[i] = s.Enqueue(f.ctx, r)
		})
	}
	f.until("the others gather", func() bool { return s.Gathered() == callers-2 })
	release()
	calls.Wait()
	for i := range callers {
		if errs[i] != nil {
			t.Fatalf("caller %d: %v", i, errs[i])
		}
		state := "available"
		if i%4 == 0 {
			state = "scheduled"
		}
		want := fmt.Sprintf(`kind%d queue%d %d %d {"i": %d} caller%d %s`, i%3, i%2, i, 1+i, i, i, state)
		stored := value[string](f, `select concat_ws(' ', kind, queue, priority, max_attempts, args::text, enqueued_by, state) from fenceline.jobs where id = $1`, got[i].ID)
		if stored != want {
			t.Errorf("caller %d got job %d: %s, want %s", i, got[i].ID, stored, want)
		}
		logged := value[string](f, `select concat_ws(' ', t.type, t.to_state, t.kind, t.queue, t.actor, t.run_at = j.run_at, t.at = j.created_at)
			from fenceline.transitions t join fenceline.jobs j on j.id = t.job_id where j.id = $1`, got[i].ID)
		if want := fmt.Sprintf("enqueued %s kind%d queue%d caller%d t t", state, i%3, i%2, i); logged != want {
			t.Errorf("the log says of caller %d's job: %s, want %s", i, logged, want)
		}
	}
	if n := value[int](f, `select count(distinct xid) from fenceline.transitions`); n != 3 {
		t.Errorf("%d callers at once took %d transactions, want one for each of the first two and one for all others", callers, n)
	}
	if report, err := s.Verify(f.ctx); err != nil || !report.OK {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

func TestARefusedCallDoesNotConcernThoseThatTravelWithIt(t *testing.T) {
	f := open(t)
	f.exec(`create function no_bad_kind() returns trigger language plpgsql as $$
		begin if new.kind = 'bad' then raise exception using errcode = '23514', message = 'bad'; end if; return new; end $$`)
	f.exec(`create trigger no_bad_kind before insert on fenceline.jobs for each row execute function no_bad_kind()`)
	s, release := f.gathering()
	defer release()
	const callers = 12
	errs := make([]error, callers)
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() {
			kind := "good"
			if i%5 == 4 {
				kind = "bad"
			}
			_, errs[i] = s.Enqueue(f.ctx, store.Request{Kind: kind})
		})
	}
	f.until("the others gather", func() bool { return s.Gathered() == callers-2 })
	release()
	calls.Wait()
	for i, err := range errs {
		if refused := err != nil; refused != (i%5 == 4) {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if n := value[int](f, `select count(*) from fenceline.jobs`); n != 10 {
		t.Errorf("%d jobs are stored, want the 10 good ones, once", n)
	}
}

func TestACallerThatGivesUpBeforeItsTurnLeavesNoJob(t *testing.T) {
	f := open(t)
	s, release := f.gathering()
	defer release()
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if _, err := s.Enqueue(f.ctx, store.Request{Kind: "first"}); err != nil {
				t.Errorf("first: %v", err)
			}
		})
	}
	f.until("both calls wait", func() bool {
		return value[int](f, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 2
	})
	ctx, giveUp := context.WithCancel(f.ctx)
	giveUp()
	if _, err := s.Enqueue(ctx, store.Request{Kind: "given up"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that gave up got %v", err)
	}
	release()
	calls.Wait()
	if _, err := s.Enqueue(f.ctx, store.Request{Kind: "last"}); err != nil {
		t.Fatal(err)
	}
	if kinds := value[[]string](f, `select array_agg(kind order by kind) from fenceline.jobs`); fmt.Sprint(kinds) != "[first first last]" {
		t.Errorf("stored: %v", kinds)
	}
}
