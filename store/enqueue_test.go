package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// stored counts everything that an enqueue could leave behind.
func (f *fixture) stored() [2]int64 {
	f.t.Helper()
	return [2]int64{
		value[int64](f, "select count(*) from fenceline.jobs"),
		value[int64](f, "select count(*) from fenceline.transitions"),
	}
}

// listener hears both channels from now on.
func (f *fixture) listener() *pgx.Conn {
	f.t.Helper()
	conn := f.connect()
	for _, channel := range []string{store.ChannelTransitions, store.ChannelWork, "heard"} {
		if _, err := conn.Exec(f.ctx, "listen "+channel); err != nil {
			f.t.Fatal(err)
		}
	}
	return conn
}

// heard returns what was notified up to now: notifications keep the order of
// the commits, so one of our own marks the end.
func (f *fixture) heard(conn *pgx.Conn) (out []string) {
	f.t.Helper()
	f.exec("notify heard")
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		if n.Channel == "heard" {
			return out
		}
		out = append(out, n.Channel+"="+n.Payload)
	}
}

func TestAHundredEnqueuesOfOneKeyAtOnceMakeOneJob(t *testing.T) {
	f := open(t)
	wide := storetest.Open(t, store.Config{URL: f.url, MaxConns: 40})
	const n = 100
	answers := make([]store.Enqueued, n)
	errs := make([]error, n)
	start := make(chan struct{})
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			<-start
			answers[i], errs[i] = wide.Enqueue(f.ctx, store.Request{Kind: "report", Key: "march", Args: json.RawMessage(`{"month":3}`)})
		})
	}
	close(start)
	wait.Wait()
	made := 0
	for i := range n {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if answers[i].ID != answers[0].ID {
			t.Fatalf("two jobs: %d and %d", answers[0].ID, answers[i].ID)
		}
		if !answers[i].Existing {
			made++
		}
	}
	if made != 1 || f.stored() != [2]int64{1, 1} {
		t.Errorf("%d answers say that they made the job; stored (jobs, transitions) %v", made, f.stored())
	}
	f.consistent()
}

func TestARepeatOfTheSameRequestFindsItsJob(t *testing.T) {
	f := open(t)
	first := store.Request{Kind: "report", Key: "march", Args: json.RawMessage(`{"a":1,"b":[2]}`), Priority: 3, Tags: []string{"x", "y"}}
	id := f.enqueue(first)
	for name, change := range map[string]func(*store.Request){
		"at once":               func(*store.Request) {},
		"spelled otherwise":     func(r *store.Request) { r.Args = json.RawMessage("{\n \"b\" : [ 2 ], \"a\":1 }") },
		"with a later due time": func(r *store.Request) { r.RunAt = time.Now().Add(time.Hour) },
		"by somebody else":      func(r *store.Request) { r.Actor = "someone" },
		"with named defaults":   func(r *store.Request) { r.Queue, r.MaxAttempts = store.DefaultQueue, store.DefaultAttempts },
	} {
		r := first
		change(&r)
		out, err := f.Enqueue(f.ctx, r)
		if err != nil || out.ID != id || !out.Existing {
			t.Errorf("%s: %+v %v", name, out, err)
		}
	}
	// The job's life does not give its key away.
	f.complete("a", f.claim("a"), `1`)
	if out, err := f.Enqueue(f.ctx, first); err != nil || out.ID != id || !out.Existing {
		t.Errorf("after its completion: %+v %v", out, err)
	}
	if got := f.stored(); got != [2]int64{1, 3} {
		t.Errorf("stored (jobs, transitions) %v", got)
	}
}

func TestTheSameKeyWithAnotherRequestIsRefusedAndNamesTheJob(t *testing.T) {
	f := open(t)
	first := store.Request{Kind: "report", Key: "march", Args: json.RawMessage(`{"month":3}`), Tags: []string{"x"}}
	f.enqueue(store.Request{})
	id := f.enqueue(first)
	before := f.stored()
	for name, change := range map[string]func(*store.Request){
		"args":         func(r *store.Request) { r.Args = json.RawMessage(`{"month":4}`) },
		"digits":       func(r *store.Request) { r.Args = json.RawMessage(`{"month":3.0}`) },
		"queue":        func(r *store.Request) { r.Queue = "slow" },
		"priority":     func(r *store.Request) { r.Priority = 1 },
		"max attempts": func(r *store.Request) { r.MaxAttempts = 3 },
		"tags":         func(r *store.Request) { r.Tags = []string{"y"} },
		"no tags":      func(r *store.Request) { r.Tags = nil },
	} {
		r := first
		change(&r)
		out, err := f.Enqueue(f.ctx, r)
		var conflict *store.KeyConflictError
		if !errors.As(err, &conflict) || conflict.JobID != id || conflict.Key != "march" || conflict.Kind != "report" || out.ID != 0 {
			t.Errorf("other %s: %+v %v", name, out, err)
		}
	}
	if got := f.stored(); got != before {
		t.Errorf("stored (jobs, transitions) %v, want %v", got, before)
	}
	other := first
	other.Kind, other.Args = "mail", nil
	if out, err := f.Enqueue(f.ctx, other); err != nil || out.ID == id || out.Existing {
		t.Errorf("the key of another kind: %+v %v", out, err)
	}
}

func TestAnEmptyRequestGetsTheStatedDefaults(t *testing.T) {
	f := open(t)
	before, err := f.Clock(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	j := f.job(f.enqueue(store.Request{Kind: "report"}))
	after, _ := f.Clock(f.ctx)
	if j.State != store.Available || j.Queue != "default" || j.MaxAttempts != 10 || j.Priority != 0 || j.Key != "" || len(j.Tags) != 0 ||
		j.Generation != 0 || j.Revision != 1 || j.Attempts != 0 || j.ArgsBytes != 2 {
		t.Errorf("%+v", j)
	}
	if !j.RunAt.Equal(j.CreatedAt) || j.CreatedAt.Before(before) || j.CreatedAt.After(after) {
		t.Errorf("due %v, created %v, asked for between %v and %v", j.RunAt, j.CreatedAt, before, after)
	}
	ts, h := f.history(j.ID)
	if len(ts) != 1 || h.State != store.Available || !ts[0].At.Equal(j.CreatedAt) {
		t.Errorf("log %+v", ts)
	}
	if p, err := f.Payload(f.ctx, j.ID); err != nil || string(p.Args) != "{}" || p.Result != nil {
		t.Errorf("payload %s %s %v", p.Args, p.Result, err)
	}
}

func TestADueTimeSchedulesTheJobAndAPassedOneDoesNot(t *testing.T) {
	f := open(t)
	now, err := f.Clock(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	later := now.Add(90 * time.Minute)
	j := f.job(f.enqueue(store.Request{RunAt: later.In(time.FixedZone("", 5*3600+1800))}))
	if j.State != store.Scheduled || !j.RunAt.Equal(later.Truncate(time.Microsecond)) {
		t.Errorf("%s due %v, want scheduled for %v", j.State, j.RunAt, later)
	}
	early := f.job(f.enqueue(store.Request{RunAt: now.Add(-time.Hour)}))
	if early.State != store.Available || !early.RunAt.Before(now) {
		t.Errorf("%s due %v", early.State, early.RunAt)
	}
	if got := f.claimAs("a", 5); len(got) != 1 || got[0].Lease.JobID != early.ID {
		t.Errorf("claimed %+v", got)
	}
	f.consistent()
}

func TestARolledBackEnqueueLeavesNothingAndWakesNobody(t *testing.T) {
	f := open(t)
	ears := f.listener()
	roll := func(how string, enqueue func(pgx.Tx) error) {
		tx, err := f.owner.Begin(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := enqueue(tx); err != nil {
			t.Fatal(err)
		}
		var inside int
		if err := tx.QueryRow(f.ctx, "select count(*) from fenceline.jobs").Scan(&inside); err != nil || inside != 1 {
			t.Fatalf("%s: %d jobs inside the transaction, %v", how, inside, err)
		}
		if err := tx.Rollback(f.ctx); err != nil {
			t.Fatal(err)
		}
		if got := f.stored(); got != [2]int64{} {
			t.Errorf("%s: stored (jobs, transitions) %v", how, got)
		}
	}
	roll("EnqueueTx", func(tx pgx.Tx) error {
		_, err := f.EnqueueTx(f.ctx, tx, store.Request{Kind: "report", Key: "march"})
		return err
	})
	roll("the function", func(tx pgx.Tx) error {
		_, err := tx.Exec(f.ctx, `select * from fenceline.enqueue('report', key => 'march')`)
		return err
	})
	if got := f.heard(ears); len(got) != 0 {
		t.Errorf("heard %v", got)
	}
	// The same, committed, is heard: the silence above was no deafness.
	f.enqueue(store.Request{Key: "march"})
	ts, _ := f.history(value[int64](f, "select id from fenceline.jobs"))
	want := []string{fmt.Sprintf("%s=%d", store.ChannelTransitions, ts[0].XID), store.ChannelWork + "="}
	if got := f.heard(ears); !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
}

func TestAnEnqueueInACommittedTransactionIsVisibleOnlyWithIt(t *testing.T) {
	f := open(t)
	f.exec("create table orders (id int)")
	tx, err := f.owner.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(f.ctx, "insert into orders values (1)"); err != nil {
		t.Fatal(err)
	}
	out, err := f.EnqueueTx(f.ctx, tx, store.Request{Kind: "report"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Job(f.ctx, out.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("seen before its commit: %v", err)
	}
	if got := f.claimAs("a", 1); len(got) != 0 {
		t.Errorf("claimed before its commit: %+v", got)
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if l := f.claim("a"); l.JobID != out.ID {
		t.Errorf("claimed %d, want %d", l.JobID, out.ID)
	}
}
