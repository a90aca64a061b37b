package store_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestEveryConnectionHasTheStoresSettingsWhateverTheDatabaseSays(t *testing.T) {
	f := open(t)
	for _, setting := range []string{
		"synchronous_commit = off", "default_transaction_isolation = 'serializable'", "timezone = 'America/St_Johns'", "statement_timeout = 0",
		"lock_timeout = 0", "idle_in_transaction_session_timeout = 0", "enable_seqscan = on", "default_transaction_deferrable = on",
	} {
		f.exec("do $$ begin execute format('alter database %I set " + strings.ReplaceAll(setting, "'", "''") + "', current_database()); end $$")
	}
	address, err := url.Parse(f.url)
	if err != nil {
		t.Fatal(err)
	}
	asked := address.Query()
	asked.Set("synchronous_commit", "off")
	asked.Set("lock_timeout", "0")
	asked.Set("application_name", "ours")
	address.RawQuery = asked.Encode()
	s := storetest.Open(t, store.Config{URL: address.String(),
		StatementTimeout: 7 * time.Second, LockTimeout: 3 * time.Second, IdleInTransaction: 1500 * time.Millisecond})
	all, renewals := s.Pools()
	listener, err := pgx.ConnectConfig(f.ctx, s.ListenConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close(context.Background())
	for name, want := range map[string]string{
		"synchronous_commit": "on", "default_transaction_isolation": "read committed", "timezone": "UTC", "statement_timeout": "7s", "lock_timeout": "3s",
		"idle_in_transaction_session_timeout": "1500ms", "enable_seqscan": "off", "jit": "off", "application_name": "ours",
	} {
		for kind, conn := range map[string]interface {
			QueryRow(context.Context, string, ...any) pgx.Row
		}{"verbs": all, "renewals": renewals, "listener": listener} {
			var got string
			if err := conn.QueryRow(f.ctx, "show "+name).Scan(&got); err != nil || got != want {
				t.Errorf("%s of the %s is %s, want %s (%v)", name, kind, got, want, err)
			}
		}
	}
	// A session of somebody else has the database's own: the above was a choice.
	if got := value[string](&fixture{t: t, ctx: f.ctx, owner: f.connect()}, "show synchronous_commit"); got != "off" {
		t.Errorf("the owner's new session has synchronous_commit %s", got)
	}
}

// A process that is stopped inside a transaction holds the rows it has locked.
// Its session ends by the store's own setting, and the job goes on.
func TestASessionThatIsStoppedInsideATransactionIsFreed(t *testing.T) {
	f := open(t)
	const idle = 500 * time.Millisecond
	stopped := storetest.Open(t, store.Config{URL: f.url, IdleInTransaction: idle})
	for name, stop := range map[string]string{
		"holds the row":    "select from fenceline.jobs where id = $1 for update",
		"changed the row":  "update fenceline.jobs set state = 'completed' where id = $1",
		"inserted its log": "insert into fenceline.transitions (job_id, type, kind, queue) select id, 'renewed', kind, queue from fenceline.jobs where id = $1 for no key update",
	} {
		id := f.enqueue(store.Request{})
		a := f.claim("a")
		f.lapse(id)
		conn, err := pgx.ConnectConfig(f.ctx, stopped.ListenConfig())
		if err != nil {
			t.Fatal(err)
		}
		tx, err := conn.Begin(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := tx.Exec(f.ctx, stop, id); err != nil {
			t.Fatal(err)
		}
		if n := f.expire(); n != 0 {
			t.Fatalf("%s: expired %d jobs whose row is held", name, n)
		}
		for swept := 0; swept == 0; swept = f.expire() {
			if time.Since(began) > idle+time.Minute {
				t.Fatalf("%s: not recovered after %v", name, time.Since(began))
			}
		}
		if took := time.Since(began); took < idle {
			t.Errorf("%s: recovered after %v: the row was not held", name, took)
		}
		if l := f.claim("b"); l.JobID != id || l.Generation != a.Generation+1 {
			t.Errorf("%s: claimed %+v", name, l)
		} else if out := f.complete("b", l, `1`); out.Err != nil {
			t.Error(out.Err)
		}
		if err := tx.Commit(f.ctx); err == nil {
			t.Errorf("%s: the stopped session committed after all", name)
		}
		conn.Close(f.ctx)
	}
	f.consistent()
}

// No wait for a row is longer than the store's lock timeout: the verb says so,
// has changed nothing, and works when it is offered again.
func TestAWaitForARowIsBounded(t *testing.T) {
	f := open(t)
	const patience = 150 * time.Millisecond
	s := storetest.Open(t, store.Config{URL: f.url, LockTimeout: patience})
	id := f.enqueue(store.Request{Key: "march"})
	l := f.claim("a")
	seen := f.job(id).Revision
	tx, err := f.owner.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(f.ctx, "select from fenceline.jobs where id = $1 for update", id); err != nil {
		t.Fatal(err)
	}
	before := f.verifyBy(s)
	for name, verb := range map[string]func() error{
		"renew":    func() error { _, err := s.Renew(f.ctx, "a", []store.Renewal{{Lease: l, For: lease}}); return err },
		"complete": func() error { _, err := s.Complete(f.ctx, "a", []store.Completion{{Lease: l}}); return err },
		"fail":     func() error { _, err := s.Fail(f.ctx, "a", []store.Failure{{Lease: l}}); return err },
		"release":  func() error { _, err := s.Release(f.ctx, "a", []store.Released{{Lease: l}}); return err },
		"requeue": func() error {
			_, err := s.Requeue(f.ctx, store.OperatorParams{JobID: id, Seen: seen, Actor: "x", Reason: "x"})
			return err
		},
		"terminate": func() error {
			_, err := s.Terminate(f.ctx, store.OperatorParams{JobID: id, Seen: seen, Actor: "x", Reason: "x"})
			return err
		},
	} {
		began := time.Now()
		err := verb()
		if took := time.Since(began); code(err) != "55P03" || took < patience || took > patience+time.Minute {
			t.Errorf("%s behind a held row: %v after %v", name, err, took)
		}
	}
	// What waits for no row is not held up.
	if got, err := s.Enqueue(f.ctx, store.Request{Kind: "report", Key: "march"}); err != nil || got.ID != id {
		t.Errorf("a repeat of the enqueue: %+v %v", got, err)
	}
	if _, err := s.Expire(f.ctx, 10, store.DefaultBackoff); err != nil {
		t.Errorf("the sweep: %v", err)
	}
	if _, err := s.JobView(f.ctx, id); err != nil {
		t.Errorf("the page: %v", err)
	}
	if after := f.verifyBy(s); after.Transitions != before.Transitions || !after.OK {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if err := tx.Rollback(f.ctx); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Complete(f.ctx, "a", []store.Completion{{Lease: l}}); err != nil || out[0].Err != nil {
		t.Errorf("offered again: %+v %v", out, err)
	}
	f.consistent()
}

func (f *fixture) verifyBy(s *store.Store) store.Report {
	f.t.Helper()
	r, err := s.Verify(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// A renewal has connections of its own: it goes out while every other one is
// taken.
func TestARenewalGoesOutWhileAllOtherConnectionsAreBusy(t *testing.T) {
	f := open(t)
	s := storetest.Open(t, store.Config{URL: f.url, MaxConns: 2})
	f.enqueue(store.Request{})
	l := f.claim("a")
	all, _ := s.Pools()
	for range 2 {
		conn, err := all.Acquire(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	short, cancel := context.WithTimeout(f.ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := s.Job(short, l.JobID); err == nil {
		t.Fatal("a page was read: the connections were not all busy")
	}
	if out, err := s.Renew(f.ctx, "a", []store.Renewal{{Lease: l, For: lease}}); err != nil || out[0].Err != nil {
		t.Errorf("%+v %v", out, err)
	}
}

func TestAStatementThatRunsTooLongIsEndedByTheServer(t *testing.T) {
	f := open(t)
	s := storetest.Open(t, store.Config{URL: f.url, StatementTimeout: 300 * time.Millisecond})
	all, _ := s.Pools()
	if _, err := all.Exec(f.ctx, "select pg_sleep(60)"); code(err) != "57014" {
		t.Errorf("got %v", err)
	}
	// Verify reads everything and may take its time.
	if r := f.verifyBy(s); !r.OK {
		t.Errorf("%+v", r)
	}
}
