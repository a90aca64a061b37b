package store_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// tail reads the whole log again and again by a cursor of its own.
type tail struct {
	sql     string // $1 and $2 are the position: a transaction and an id
	xid, id int64
	seen    map[int64]int
}

const (
	byID              = `select t.xid::text::bigint, t.id from fenceline.transitions t where t.id > $2 and $1::bigint >= 0 order by t.id`
	byIDBehindHorizon = `select t.xid::text::bigint, t.id from fenceline.transitions t where t.id > $2 and $1::bigint >= 0
		and t.xid < pg_snapshot_xmin(pg_current_snapshot()) order by t.id`
	byXIDBehindHorizon = `select t.xid::text::bigint, t.id from fenceline.transitions t where (t.xid, t.id) > ($1::text::xid8, $2)
		and t.xid < pg_snapshot_xmin(pg_current_snapshot()) order by t.xid, t.id`
)

func (t *tail) read(f *fixture) {
	f.t.Helper()
	var position any = t.xid
	if t.sql == byXIDBehindHorizon {
		position = fmt.Sprint(t.xid)
	}
	rows, err := f.owner.Query(f.ctx, t.sql, position, t.id)
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = pgx.ForEachRow(rows, []any{&t.xid, &t.id}, func() error { t.seen[t.id]++; return nil })
	if err != nil {
		f.t.Fatal(err)
	}
}

func newTail(sql string) *tail { return &tail{sql: sql, seen: map[int64]int{}} }

// catchUp reads until the tail has so many rows: writers of other databases
// can hold the horizon back for a while.
func (t *tail) catchUp(f *fixture, n int64) {
	f.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); int64(len(t.seen)) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("found %d of %d transitions", len(t.seen), n)
		}
		t.read(f)
	}
}

func (f *fixture) begin() pgx.Tx {
	f.t.Helper()
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return tx
}

func (f *fixture) enqueueIn(tx pgx.Tx) (id int64) {
	f.t.Helper()
	out, err := f.EnqueueTx(f.ctx, tx, store.Request{Kind: "report"})
	if err != nil {
		f.t.Fatal(err)
	}
	return out.ID
}

func (f *fixture) commit(tx pgx.Tx) {
	f.t.Helper()
	if err := tx.Commit(f.ctx); err != nil {
		f.t.Fatal(err)
	}
	tx.Conn().Close(f.ctx)
}

func TestACursorOnIdsMissesWhatTheOneOnTransactionsFinds(t *testing.T) {
	f := open(t)
	naive, careful, right := newTail(byID), newTail(byIDBehindHorizon), newTail(byXIDBehindHorizon)
	read := func() { naive.read(f); careful.read(f); right.read(f) }
	const rounds = 10
	for range rounds {
		// The lower id commits later.
		early, late := f.begin(), f.begin()
		f.enqueueIn(early)
		f.enqueueIn(late)
		f.commit(late)
		read()
		f.commit(early)
		read()
		// The lower id is of the higher transaction, which commits later.
		first, second := f.begin(), f.begin()
		if _, err := first.Exec(f.ctx, "select pg_current_xact_id()"); err != nil {
			t.Fatal(err)
		}
		f.enqueueIn(second)
		f.enqueueIn(first)
		f.commit(first)
		for deadline := time.Now().Add(time.Minute); careful.id < value[int64](f, "select max(id) from fenceline.transitions"); read() {
			if time.Now().After(deadline) {
				t.Fatal("the first transaction did not come under the horizon")
			}
		}
		f.commit(second)
		read()
	}
	right.catchUp(f, 4*rounds)
	for id, times := range right.seen {
		if times != 1 {
			t.Errorf("transition %d was read %d times", id, times)
		}
	}
	if missed := 4*rounds - len(naive.seen); missed != 2*rounds {
		t.Errorf("a cursor on ids missed %d of %d, want %d: the test shows nothing", missed, 4*rounds, 2*rounds)
	}
	if missed := 4*rounds - len(careful.seen); missed < rounds {
		t.Errorf("a cursor on ids behind the horizon missed %d of %d: the test shows nothing", missed, 4*rounds)
	}
}

func TestTheCursorOnTransactionsMissesNothingOfManyWriters(t *testing.T) {
	f := open(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const writers, transactions = 8, 40
	var wait sync.WaitGroup
	for k := range writers {
		conn := f.connect()
		random := rand.New(rand.NewPCG(seed, uint64(k)))
		wait.Go(func() {
			for range transactions {
				tx, err := conn.Begin(f.ctx)
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + random.IntN(4) {
					if _, err := f.EnqueueTx(f.ctx, tx, store.Request{Kind: "report"}); err != nil {
						t.Error(err)
					}
				}
				if random.IntN(5) == 0 {
					err = tx.Rollback(f.ctx)
				} else {
					err = tx.Commit(f.ctx)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	reader := newTail(byXIDBehindHorizon)
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
			reader.read(f)
		}
	}
	reader.catchUp(f, value[int64](f, "select count(*) from fenceline.transitions"))
	for id, times := range reader.seen {
		if times != 1 {
			t.Errorf("transition %d was read %d times", id, times)
		}
	}
}
