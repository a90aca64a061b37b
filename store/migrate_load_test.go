package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/fenceline/fenceline/migrations"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// published is the schema that databases out there may have.
const published = 3

// migrateTo brings a fresh database to an older schema.
func (f *fixture) migrateTo(version int64) {
	f.t.Helper()
	f.exec("create schema fenceline")
	db := stdlib.OpenDB(*f.owner.Config())
	defer db.Close()
	versions, err := database.NewStore(goose.DialectPostgres, store.VersionTable)
	if err != nil {
		f.t.Fatal(err)
	}
	provider, err := goose.NewProvider("", db, migrations.FS, goose.WithStore(versions))
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := provider.UpTo(f.ctx, version); err != nil {
		f.t.Fatal(err)
	}
}

// newestMigration is the version that this program wants.
func newestMigration(t *testing.T) int {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(names) <= published {
		t.Fatalf("%v %v", names, err)
	}
	number, _, _ := strings.Cut(names[len(names)-1], "_")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// size is how many of something a test makes: what the variable says, or less.
func size(t *testing.T, variable string, less int) int {
	t.Helper()
	named := os.Getenv(variable)
	if named == "" {
		return less
	}
	n, err := strconv.Atoi(named)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is not a number of rows", variable, named)
	}
	return n
}

// Processes of the version before go on renewing while a database of many jobs
// is migrated: none loses a lease, and no migration writes the tables anew.
func TestNoRenewalIsMissedWhileManyJobsAreMigrated(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, ctx: t.Context(), url: storetest.URL(t)}
	f.owner = f.connect()
	f.migrateTo(published)
	jobs := size(t, "MIGRATE_JOBS", 20_000)
	const lanes, each, term = 4, 250, 30 * time.Second
	f.exec("begin") // for one now()
	f.exec(`insert into fenceline.jobs (kind, state, generation, revision, attempt_id, attempt_end, attempts_used, created_at, run_at, lease_until, claimed_at, finished_at, result, result_attempt_id, result_generation)
		select 'report', 'completed', 1, 3, md5(i::text)::uuid, 'completed', 1, now(), now(), now() + interval '1 hour', now(), now(), '{"sum": 1}', md5(i::text)::uuid, 1
		from generate_series(1, $1::int) i`, jobs)
	f.exec(`insert into fenceline.transitions (job_id, at, type, to_state, revision, attempts_used, max_attempts, kind, queue, run_at)
		select id, now(), 'enqueued', 'available', 1, 0, 10, kind, queue, run_at from fenceline.jobs`)
	f.exec(`insert into fenceline.transitions (job_id, at, type, from_state, to_state, revision, generation, attempt_id, lease_until, attempts_used, max_attempts, kind, queue)
		select id, now(), 'claimed', 'available', 'running', 2, 1, attempt_id, lease_until, 1, 10, kind, queue from fenceline.jobs`)
	f.exec(`insert into fenceline.transitions (job_id, at, type, from_state, to_state, revision, generation, attempt_id, attempts_used, max_attempts, kind, queue)
		select id, now(), 'completed', 'running', 'completed', 3, 1, attempt_id, 1, 10, kind, queue from fenceline.jobs`)
	f.exec("commit")
	held := make([][]store.Renewal, lanes)
	for i := range held {
		held[i] = f.running(each, term)
	}
	// A process that started before has found its own version.
	newest := value[int](f, "insert into "+store.VersionTable+" (version_id, is_applied) select $1::int, true returning version_id", newestMigration(t))
	old := storetest.Open(t, store.Config{URL: f.url})
	f.exec("delete from "+store.VersionTable+" where version_id = $1", newest)
	files := func() string {
		return value[string](f, `select string_agg(relname || ' ' || relfilenode, ', ' order by relname) from pg_class
			where relnamespace = 'fenceline'::regnamespace and relkind = 'r' and relname in ('jobs', 'attempt_errors', 'audit') or relname like 'transitions\_%' and relkind = 'r'`)
	}
	before := files()

	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	var renewed, longest atomic.Int64
	var lane sync.WaitGroup
	for i := range held {
		lane.Go(func() {
			began := time.Now()
			for ctx.Err() == nil {
				out, err := old.Renew(f.ctx, fmt.Sprint("w", i), held[i])
				// A worker that waited in vain for the table offers it again, and
				// has the rest of the lease to do so.
				var told *pgconn.PgError
				if errors.As(err, &told) && told.Code == "55P03" {
					continue
				}
				if err != nil {
					t.Errorf("renew: %v", err)
					return
				}
				for _, o := range out {
					if o.Err != nil {
						t.Errorf("a lease was lost: %v", o.Err)
						return
					}
				}
				renewed.Add(int64(len(out)))
				longest.Store(max(longest.Load(), int64(time.Since(began))))
				began = time.Now()
			}
		})
	}
	began := renewed.Load()
	for end := time.Now().Add(time.Minute); renewed.Load() < lanes*each && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	err := store.Migrate(f.ctx, f.url)
	took := time.Since(start)
	for end := time.Now().Add(time.Minute); renewed.Load() < began+2*lanes*each && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop()
	lane.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if after := files(); after != before {
		t.Errorf("a migration wrote a table anew:\n%s\n%s", before, after)
	}
	t.Logf("%d jobs migrated in %s; %d renewals, the longest batch of %d took %s", jobs, took.Round(time.Millisecond), renewed.Load(), each, time.Duration(longest.Load()).Round(time.Millisecond))
	f.Store = storetest.Open(t, store.Config{URL: f.url})
	f.enqueue(store.Request{})
	if out := f.complete("a", f.claim("a"), `1`); out.Err != nil {
		t.Error(out.Err)
	}
	f.holds()
}

// running makes jobs that are held, with their log.
func (f *fixture) running(n int, term time.Duration) []store.Renewal {
	f.t.Helper()
	rows, err := f.owner.Query(f.ctx, `
		with made as (
		  insert into fenceline.jobs (kind, queue, state, generation, revision, attempt_id, attempts_used, lease_until, claimed_at, worker)
		  select 'held', 'held', 'running', 1, 2, gen_random_uuid(), 1, now() + interval '1 hour', now(), 'w' from generate_series(1, $1::int)
		  returning *
		), enqueued as (
		  insert into fenceline.transitions (job_id, type, to_state, revision, attempts_used, max_attempts, kind, queue, run_at)
		  select id, 'enqueued', 'available', 1, 0, max_attempts, kind, queue, run_at from made
		  returning job_id
		), claimed as (
		  insert into fenceline.transitions (job_id, type, from_state, to_state, revision, generation, attempt_id, lease_until, attempts_used, max_attempts, kind, queue, worker)
		  select id, 'claimed', 'available', 'running', 2, 1, attempt_id, lease_until, 1, max_attempts, kind, queue, worker
		  from made where id in (select job_id from enqueued) -- after it, with higher ids
		)
		select id, attempt_id from made`, n)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	var out []store.Renewal
	for rows.Next() {
		r := store.Renewal{Lease: store.Lease{Generation: 1}, For: term}
		if err := rows.Scan(&r.Lease.JobID, &r.Lease.AttemptID); err != nil {
			f.t.Fatal(err)
		}
		out = append(out, r)
	}
	if rows.Err() != nil || len(out) != n {
		f.t.Fatal(len(out), rows.Err())
	}
	return out
}
