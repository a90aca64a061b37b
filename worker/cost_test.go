package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// work is what the server counted: rows written, transactions, and log.
type work struct {
	jobsInserted, jobsUpdated, logged, transactions, wal, jobsIndexes, logIndexes int64
}

func counted(t *testing.T, conn *pgx.Conn) (w work) {
	t.Helper()
	err := conn.QueryRow(t.Context(), `
		select j.n_tup_ins, j.n_tup_upd,
		  (select coalesce(sum(l.n_tup_ins), 0) from pg_stat_user_tables l where l.schemaname = 'fenceline' and l.relname ~ '^transitions'),
		  d.xact_commit, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
		  (select count(*) from pg_index where indrelid = j.relid),
		  (select count(*) from pg_index where indrelid = 'fenceline.transitions'::regclass)
		from pg_stat_user_tables j, pg_stat_database d
		where j.relid = 'fenceline.jobs'::regclass and d.datname = current_database()`).
		Scan(&w.jobsInserted, &w.jobsUpdated, &w.logged, &w.transactions, &w.wal, &w.jobsIndexes, &w.logIndexes)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The work that a job costs from its claim to its stored result: rows and log of
// the database, and transactions, of which each is a round trip. Not
// parallel: the server's write-ahead log is everybody's.
func TestAJobIsTwoUpdatesTwoLinesAndAFractionOfATransaction(t *testing.T) {
	const jobs = 2000
	st, url := storetest.NewWithURL(t)
	conn := owner(t, url)
	do(t, conn, "alter table fenceline.jobs set (autovacuum_enabled = off)")
	if _, err := st.EnqueueMany(t.Context(), slices.Repeat([]store.Request{{Kind: "noop"}}, jobs)); err != nil {
		t.Fatal(err)
	}
	storetest.Await(t, "the enqueues are counted", func() bool { return counted(t, conn).logged == jobs })
	before := counted(t, conn)
	cfg := config(t)
	cfg.Queues = map[string]int{"default": 200}
	cfg.Sweep, cfg.Poll, cfg.Lease = 0, 0, time.Minute
	p := New(st, cfg)
	HandleNoop(p)
	r := run(t, p)
	storetest.Await(t, "every job is done", func() bool { return p.Stats().Completed == jobs })
	wal := counted(t, conn).wal - before.wal
	if err := r.halt(t); err != nil {
		t.Fatal(err)
	}
	st.Close() // a session tells its counts when it ends
	storetest.Await(t, "the work is counted", func() bool { return counted(t, conn).jobsUpdated >= 2*jobs })
	after := counted(t, conn)
	t.Logf("a job: %.3f transactions, %d bytes of WAL, %.2f updates, %.2f lines of the log; %d and %d indexes",
		float64(after.transactions-before.transactions)/jobs, wal/jobs,
		float64(after.jobsUpdated)/jobs, float64(after.logged-before.logged)/jobs, after.jobsIndexes, after.logIndexes)
	for what, is := range map[string]struct{ got, most int64 }{
		"jobs inserted":        {after.jobsInserted - before.jobsInserted, 0},
		"jobs updated":         {after.jobsUpdated, 2 * jobs},
		"lines of the log":     {after.logged - before.logged, 2 * jobs},
		"transactions":         {after.transactions - before.transactions, jobs / 4},
		"bytes of WAL for one": {wal / jobs, 2200},
		"indexes of jobs":      {after.jobsIndexes, 7},
		"indexes of the log":   {after.logIndexes, 4},
	} {
		if is.got > is.most {
			t.Errorf("%s: %d, more than %d", what, is.got, is.most)
		}
	}
}
