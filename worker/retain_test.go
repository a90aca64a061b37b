package worker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// aged makes finished jobs of long ago, with a log, and a day of the log in
// which nothing is left but theirs.
func aged(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	for _, sql := range []string{
		`do $$ declare first timestamptz := date_trunc('day', now(), 'UTC') - interval '40 days';
		begin execute format('create table fenceline.long_ago partition of fenceline.transitions for values from (%L) to (%L)', first, first + interval '1 day'); end $$`,
		`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempt_end, attempts_used, created_at, run_at, finished_at)
		select 'noop', 'terminated', 0, 2, null, null, 0, now() - interval '40 days', now() - interval '40 days', now() - interval '40 days' from generate_series(1, $1::int)`,
		`insert into fenceline.transitions (job_id, at, type, to_state, revision, attempts_used, max_attempts, kind, queue, run_at)
		select id, created_at, 'enqueued', 'available', 1, 0, 10, kind, queue, run_at from fenceline.jobs where $1::int > 0`,
		`insert into fenceline.transitions (job_id, at, type, from_state, to_state, revision, attempts_used, max_attempts, kind, queue)
		select id, created_at, 'terminated', 'available', 'terminated', 2, 0, 10, kind, queue from fenceline.jobs where $1::int > 0`,
	} {
		var args []any
		if strings.Contains(sql, "$1") {
			args = append(args, n)
		}
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPoolsRemoveWhatIsOldAndOneThatIsToldNotToLeavesIt(t *testing.T) {
	t.Parallel()
	st, url := storetest.NewWithURL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	count := func(sql string) (n int) {
		if err := conn.QueryRow(t.Context(), "select count(*) from "+sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	aged(t, conn, 2500)
	started := func(change func(*Config)) *running {
		c := config(t)
		change(&c)
		p := New(st, c)
		HandleNoop(p)
		return run(t, p)
	}
	keeper := started(func(c *Config) { c.KeepJobs, c.KeepTransitions = -1, -1 })
	awaitState(t, st, enqueueKind(t, st, "noop"), store.Completed)
	if err := keeper.halt(t); err != nil {
		t.Fatal(err)
	}
	if n := count("fenceline.jobs"); n != 2501 {
		t.Fatalf("%d jobs are left by a pool that removes none", n)
	}
	for range 2 {
		started(func(c *Config) {})
	}
	storetest.Await(t, "the old jobs are gone", func() bool { return count("fenceline.jobs where finished_at < now() - interval '1 day'") == 0 })
	storetest.Await(t, "the old day is dropped", func() bool {
		return count("pg_class where relname = 'long_ago'") == 0 && count("fenceline.retention where log_pass is null") == 1
	})
	if n := count("fenceline.jobs"); n != 1 {
		t.Errorf("%d jobs are left", n)
	}
	if r, err := st.Verify(t.Context()); err != nil || !r.OK || r.Jobs != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestTimesThatAreTooShortToKeepAnythingAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{KeepJobs: time.Minute}, {KeepTransitions: 23 * time.Hour}} {
		if err := c.withDefaults().check(); err == nil || !strings.Contains(err.Error(), "Keep") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	c := Config{}.withDefaults()
	if c.KeepJobs != DefaultKeep || c.KeepTransitions != DefaultKeep {
		t.Errorf("%+v", c)
	}
}
