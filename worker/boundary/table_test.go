package boundary

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fenceline/fenceline/store/storetest"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The older write waits behind the newer one's transaction, whatever it does
// with the row, and is judged on what is there when it may go on.
func TestAnOlderWriteThatWaitsIsJudgedOnTheLockedRow(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		holder   func(*reports, pgx.Tx) error
		commit   bool
		accepted bool
	}{
		"behind a newer write":                    {func(r *reports, tx pgx.Tx) error { _, err := r.guarded(t.Context(), tx, "by b", 42, b); return err }, true, false},
		"behind a newer write that is taken back": {func(r *reports, tx pgx.Tx) error { _, err := r.guarded(t.Context(), tx, "by b", 42, b); return err }, false, true},
		"behind a bare lock":                      {func(r *reports, tx pgx.Tx) error { return onlyLock(t.Context(), tx) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReports(t)
			r.write("by somebody before", 40, uuid.New())
			tx, err := r.connect().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.holder(r, tx); err != nil {
				t.Fatal(err)
			}
			late := r.connect()
			answer := make(chan bool, 1)
			var done sync.WaitGroup
			defer done.Wait()
			done.Go(func() {
				ok, err := r.guarded(t.Context(), late, "by a", 41, a)
				if err != nil {
					t.Error(err)
				}
				answer <- ok
			})
			storetest.Await(t, "the older write waits", func() bool { return r.waits(late.PgConn().PID()) })
			if c.commit {
				err = tx.Commit(t.Context())
			} else {
				err = tx.Rollback(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := <-answer; got != c.accepted {
				t.Errorf("accepted: %v, want %v", got, c.accepted)
			}
		})
	}
}

func onlyLock(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select from reports where report = 'acme' for update`)
	return err
}

func (r *reports) waits(pid uint32) bool {
	r.t.Helper()
	var waits bool
	if err := r.QueryRow(r.t.Context(), `select exists (select from pg_locks where pid = $1 and not granted)`, pid).Scan(&waits); err != nil {
		r.t.Fatal(err)
	}
	return waits
}

func TestWhateverTheOrderTheNewestGenerationStands(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	const newest, writers = 400, 8
	generations := make(chan int64, newest)
	for _, i := range rand.Perm(newest) {
		generations <- int64(i + 1)
	}
	close(generations)
	var all sync.WaitGroup
	for range writers {
		conn := r.connect()
		all.Go(func() {
			var highest int64
			for g := range generations {
				ok, err := r.guarded(t.Context(), conn, fmt.Sprint(g), g, uuid.New())
				if err != nil {
					t.Error(err)
					return
				}
				if ok && g < highest {
					t.Errorf("generation %d was accepted after %d", g, highest)
				}
				highest = max(highest, g)
			}
		})
	}
	all.Wait()
	if got := r.body("reports"); got != fmt.Sprint(newest) {
		t.Errorf("generation %s stands, want %d", got, newest)
	}
}

// Two jobs that write the same report: the one enqueued later wins, whatever
// their generations.
func TestAJobEnqueuedLaterIsNewer(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	write := func(job, generation int64) bool {
		tag, err := r.Exec(t.Context(), passage(t, "sql", "-- guarded:"), "acme", fmt.Sprint(job), job, generation, uuid.New())
		if err != nil {
			t.Fatal(err)
		}
		return tag.RowsAffected() == 1
	}
	if !write(7, 5) || !write(8, 1) || write(7, 6) {
		t.Error("the order of the jobs did not decide")
	}
}
