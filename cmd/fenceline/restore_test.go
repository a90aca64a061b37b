package main

import (
	"context"
	"crypto/rand"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// tool is one of PostgreSQL's client programs.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		t.Skipf("there is no %s here; with PostgreSQL's client programs this test shows a restore", name)
	}
	return found[len(found)-1]
}

func succeed(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// beside makes an empty database on the same server.
func beside(t *testing.T, db string) string {
	t.Helper()
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	name := "restored_" + strings.ToLower(rand.Text()[:8])
	admin := func(sql string) {
		conn, err := pgx.Connect(context.Background(), db)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Error(err)
		}
	}
	admin("create database " + name + " template template0")
	t.Cleanup(func() { admin("drop database " + name + " with (force)") })
	u.Path = "/" + name
	return u.String()
}

// A copy taken while jobs run holds them under the leases of that moment. After
// the restore they are taken back and run, no result is lost, the old attempts
// stay fenced, and the log holds.
func TestWhatPgDumpTookRunsOnAfterARestore(t *testing.T) {
	t.Parallel()
	dump, restore := tool(t, "pg_dump"), tool(t, "pg_restore")
	db := migrated(t)
	st := openStore(t, db)
	for i := range 3 {
		if _, err := st.Enqueue(t.Context(), store.Request{Kind: "noop", Key: decimal(int64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := st.Claim(t.Context(), store.ClaimParams{Worker: "before", Queue: "default",
		Kinds:      []store.KindLease{{Kind: "noop", Lease: 3 * time.Second}},
		AttemptIDs: []uuid.UUID{uuid.New(), uuid.New()}})
	if err != nil || len(claimed) != 2 {
		t.Fatal(claimed, err)
	}
	if out, err := st.Complete(t.Context(), "before", []store.Completion{{Lease: claimed[0].Lease, Result: []byte(`"kept"`)}}); err != nil || out[0].Err != nil {
		t.Fatal(out, err)
	}
	file := filepath.Join(t.TempDir(), "jobs.dump")
	succeed(t, dump, "--format=custom", "--schema=fenceline", "--file="+file, db)

	copied := beside(t, db)
	succeed(t, restore, "--exit-on-error", "--dbname="+copied, file)
	verdict := runWith(t, onDB(copied), "", "verify", "--json").wants(t, exitOK).object(t)
	same(t, "the number of jobs", verdict["jobs"], 3)
	doctor := runWith(t, onDB(copied), "", "doctor", "--json").object(t)
	for _, c := range doctor["checks"].([]any) {
		if f := c.(map[string]any); (f["check"] == "schema_version" || f["check"] == "partitions" || f["check"] == "runtime_role") && f["status"] != "ok" {
			t.Errorf("the doctor says of the restored database: %v", f)
		}
	}
	// The numbers of transactions of another cluster may be far ahead of this one's.
	query[int](t, copied, `with log as (update fenceline.transitions set xid = (xid::text::bigint + 1000000000)::text::xid8 returning xid),
		counted as (update fenceline.rollup_position set xid = (select xid from log order by xid desc limit 1), id = 9 returning 1),
		checked as (update fenceline.verification set xid = (select xid from log order by xid desc limit 1), id = 9, n = 9 returning 1)
		select count(*) from log`)
	runWith(t, onDB(copied), "", "migrate").wants(t, exitOK)
	begin(t, onDB(copied), "worker", "--workers", "2")
	eventually(t, "every job to be completed", func() bool {
		return query[int](t, copied, `select count(*) from fenceline.jobs where state = 'completed'`) == 3
	})
	eventually(t, "the whole log to be counted and checked", func() bool {
		return query[bool](t, copied, `select l.n > 9 and v.n = l.n and r.n = l.n
			from (select count(*) as n from fenceline.transitions) l, fenceline.verification v, (select sum(n) as n from fenceline.rollups) r`)
	})
	same(t, "the result from before", query[string](t, copied, `select result #>> '{}' from fenceline.jobs where id = $1`, claimed[0].Lease.JobID), "kept")
	same(t, "the generation of the job that ran", query[int](t, copied, `select generation from fenceline.jobs where id = $1`, claimed[1].Lease.JobID), 2)
	after := openStore(t, copied)
	out, err := after.Complete(t.Context(), "before", []store.Completion{{Lease: claimed[1].Lease, Result: []byte(`"late"`)}})
	if err != nil || out[0].Err == nil {
		t.Errorf("the attempt from before the copy was accepted: %v %v", out, err)
	}
	if e, err := after.Enqueue(t.Context(), store.Request{Kind: "noop", Key: "0"}); err != nil || !e.Existing {
		t.Errorf("a key from before leads to %+v: %v", e, err)
	}
	runWith(t, onDB(copied), "", "verify").wants(t, exitOK)
}

// One step down, with the program's own verb, and up again.
func TestMigrateGoesOneVersionDownAndUpAgain(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	runWith(t, onDB(db), "", "enqueue", "noop").wants(t, exitOK)
	runWith(t, onDB(db), "", "migrate", "--down-one").wants(t, exitOK)
	runWith(t, onDB(db), "", "jobs", "list").complains(t, exitRefused, "fenceline migrate")
	runWith(t, onDB(db), "", "migrate").wants(t, exitOK)
	runWith(t, onDB(db), "", "jobs", "list").wants(t, exitOK)
	runWith(t, onDB(db), "", "verify").wants(t, exitOK)
}
