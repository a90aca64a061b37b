package store_test

import (
	"context"
	"fmt"
)

const (
	planFinished = 50000
	planRunning  = 1000
	planWaiting  = 8000  // available, and as many scheduled and due
	planLater    = 20000 // scheduled and not due
	planLost     = 20000 // refusals of last week
)

// crowd fills the tables as months of work leave them: finished jobs with
// their log, and a few that are alive. Nothing tells the planner.
func (f *fixture) crowd() {
	f.t.Helper()
	f.exec(`alter table fenceline.jobs set (autovacuum_enabled = off)`)
	for _, name := range value[[]string](f, `select array_agg(i.inhrelid::regclass::text) from pg_inherits i where i.inhparent = 'fenceline.transitions'::regclass`) {
		f.exec("alter table " + name + " set (autovacuum_enabled = off)")
	}
	f.exec(`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempt_end, attempts_used, lease_until, claimed_at, finished_at,
			run_at, worker, result, result_attempt_id, result_generation, args)
		select 'report', 'completed', 1, 3, md5(i::text)::uuid, 'completed', 1, now(), now(), now(), now() - interval '1 hour', 'w', '{"sum": 1}', md5(i::text)::uuid, 1,
			jsonb_build_object('month', i)
		from generate_series(1, $1::int) i`, planFinished)
	f.exec(`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempts_used, lease_until, claimed_at, worker)
		select 'report', 'running', 1, 2, md5(i::text)::uuid, 1, now() + interval '1 hour', now(), 'w' from generate_series($1::int + 1, $1::int + $2::int) i`, planFinished, planRunning)
	f.exec(`insert into fenceline.jobs (kind, state) select 'report', 'available' from generate_series(1, $1::int)`, planWaiting)
	f.exec(`insert into fenceline.jobs (kind, state, run_at) select 'report', 'scheduled', now() - interval '1 minute' from generate_series(1, $1::int)`, planWaiting)
	f.exec(`insert into fenceline.jobs (kind, state, run_at) select 'report', 'scheduled', now() + interval '1 day' from generate_series(1, $1::int)`, planLater)
	f.exec(`insert into fenceline.transitions (at, job_id, type, op, reason, generation, attempt_id, kind, queue)
		select now() - interval '3 days', i, 'rejected', 'complete', 'superseded', 1, md5(i::text)::uuid, 'report', 'default' from generate_series(1, $1::int) i`, planLost)
	f.exec(`insert into fenceline.transitions (job_id, type, to_state, revision, attempts_used, max_attempts, kind, queue, run_at)
		select id, 'enqueued', 'available', 1, 0, 10, kind, queue, run_at from fenceline.jobs`)
	f.exec(`insert into fenceline.transitions (job_id, type, from_state, to_state, revision, generation, attempt_id, lease_until, attempts_used, max_attempts, kind, queue)
		select id, 'claimed', 'available', 'running', 2, 1, attempt_id, lease_until, 1, 10, kind, queue from fenceline.jobs where generation > 0`)
	f.exec(`insert into fenceline.transitions (job_id, type, from_state, to_state, revision, generation, attempt_id, attempts_used, max_attempts, kind, queue)
		select id, 'completed', 'running', 'completed', 3, 1, attempt_id, 1, 10, kind, queue from fenceline.jobs where state = 'completed'`)
}

// forget makes the planner's statistics those of tables that were never
// analyzed, or that were analyzed while they were empty.
func (f *fixture) forget(rows int) {
	f.t.Helper()
	f.exec(`delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'fenceline'::regnamespace)`)
	f.exec(`update pg_class set reltuples = $1::int, relpages = 0, relallvisible = 0 where relnamespace = 'fenceline'::regnamespace and relkind in ('r', 'i', 'p', 'I')`, rows)
}

// remember gives the planner the statistics of an hour in which all the jobs,
// few or many, were of one sort.
func (f *fixture) remember(sort string, rows int) {
	f.t.Helper()
	tx, err := f.owner.Begin(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	for _, sql := range []string{
		"create temporary table waiting on commit drop as select * from fenceline.jobs where " + sort + " limit 300",
		"analyze waiting",
		"delete from pg_statistic where starelid = 'fenceline.jobs'::regclass",
		`insert into pg_statistic select ('fenceline.jobs'::regclass)::oid, ` + value[string](f, `select string_agg(attname, ', ' order by attnum) from pg_attribute
			where attrelid = 'pg_statistic'::regclass and attnum > 1`) + ` from pg_statistic where starelid = 'waiting'::regclass`,
		fmt.Sprintf("update pg_class set reltuples = %d, relpages = %d where oid = 'fenceline.jobs'::regclass", rows, rows/30),
	} {
		if _, err := tx.Exec(f.ctx, sql); err != nil {
			f.t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := tx.Commit(f.ctx); err != nil {
		f.t.Fatal(err)
	}
}
