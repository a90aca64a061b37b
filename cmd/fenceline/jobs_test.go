package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestTheListIsPagedNewestFirst(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	st := openStore(t, db)
	for i := range 5 {
		if _, err := st.Enqueue(t.Context(), store.Request{Kind: []string{"even", "odd"}[i%2], Key: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	first := runWith(t, onDB(db), "", "jobs", "list", "--limit", "3", "--json").wants(t, exitOK).object(t)
	same(t, "the first page", idsOf(first), "5 4 3")
	second := runWith(t, onDB(db), "", "jobs", "list", "--limit", "3", "--after", first["next"].(string), "--json").wants(t, exitOK).object(t)
	same(t, "the second page", idsOf(second), "2 1")
	same(t, "its next", second["next"], nil)
	odd := runWith(t, onDB(db), "", "jobs", "list", "--kind", "odd", "--state", "available", "--json").wants(t, exitOK).object(t)
	same(t, "one kind", idsOf(odd), "4 2")
	keyed := runWith(t, onDB(db), "", "jobs", "list", "--key", "2", "--json").wants(t, exitOK).object(t)
	same(t, "one key", idsOf(keyed), "3")
	found := runWith(t, onDB(db), "", "jobs", "list", "--search", `kind:odd,even -key:2 id:>1`, "--order", "oldest", "--json").wants(t, exitOK).object(t)
	same(t, "a search", idsOf(found), "2 4 5")
	same(t, "its order", found["order"], "oldest")
	inArgs := runWith(t, onDB(db), "", "jobs", "list", "--search", `args.customer_id:12`, "--json").wants(t, exitOK).object(t)
	same(t, "a search in args", idsOf(inArgs), "")
	text := runWith(t, onDB(db), "", "jobs", "list").wants(t, exitOK).out
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 6 || strings.Index(lines[0], "KIND") != strings.Index(lines[1], "even") {
		t.Errorf("the table is not aligned:\n%s", text)
	}
	if none := runWith(t, onDB(db), "", "jobs", "list", "--queue", "nowhere").wants(t, exitOK).out; none != "No job matches.\n" {
		t.Errorf("an empty list says %q", none)
	}
}

func idsOf(page map[string]any) string {
	var ids []string
	for _, j := range page["jobs"].([]any) {
		ids = append(ids, j.(map[string]any)["id"].(string))
	}
	return strings.Join(ids, " ")
}

// expiredOnce makes a job whose first attempt was refused, and failed in its
// second one.
func expiredOnce(t *testing.T, db string) int64 {
	t.Helper()
	st := openStore(t, db)
	ctx := t.Context()
	done, err := st.Enqueue(ctx, store.Request{Kind: "report", Args: json.RawMessage(`{"pin": "s3cr3t"}`)})
	if err != nil {
		t.Fatal(err)
	}
	claim := func(lease time.Duration) store.Lease {
		c, err := st.Claim(ctx, store.ClaimParams{Worker: "w-1", Queue: "default",
			Kinds: []store.KindLease{{Kind: "report", Lease: lease}}, AttemptIDs: []uuid.UUID{uuid.New()}})
		if err != nil || len(c) != 1 {
			t.Fatalf("claim: %v, %d", err, len(c))
		}
		return c[0].Lease
	}
	old := claim(100 * time.Millisecond)
	eventually(t, "the lease to expire", func() bool {
		n, err := st.Expire(ctx, 10, store.DefaultBackoff)
		return err == nil && n == 1
	})
	lease := claim(time.Hour)
	if _, err := st.Complete(ctx, "w-1", []store.Completion{{Lease: old, Result: json.RawMessage("1")}}); err != nil {
		t.Fatal(err)
	}
	_, err = st.Fail(ctx, "w-1", []store.Failure{{Lease: lease, Permanent: true, Reason: store.ReasonPermanent,
		Error: store.AttemptError{Class: "boom", Message: "it \x1b[31mbroke"}, Output: "last words"}})
	if err != nil {
		t.Fatal(err)
	}
	return done.ID
}

func TestShowTellsTheStoryAndItsLanes(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	id := fmt.Sprint(expiredOnce(t, db))
	text := runWith(t, onDB(db), "", "jobs", "show", id).wants(t, exitOK).out
	for _, want := range []string{"discarded", "complete: superseded", "expired", "failed (permanent)", "boom", "last words", "GENERATION"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "s3cr3t") || strings.Contains(text, "\x1b") {
		t.Errorf("it shows a value or an escape of the terminal:\n%q", text)
	}
	same(t, "recorded looks", query[int](t, db, `select count(*) from fenceline.audit`), 0)
	shown := runWith(t, onDB(db), "", "jobs", "show", id, "--reveal").wants(t, exitOK).out
	if !strings.Contains(shown, "s3cr3t") {
		t.Errorf("--reveal does not show the args:\n%s", shown)
	}
	same(t, "recorded looks", query[int](t, db, `select count(*) from fenceline.audit where action = 'reveal'`), 1)

	v := runWith(t, onDB(db), "", "jobs", "show", id, "--json").wants(t, exitOK).object(t)
	attempts := v["attempts"].([]any)
	same(t, "attempts", len(attempts), 2)
	same(t, "refused writes of the first", attempts[0].(map[string]any)["refused"], 1)
	same(t, "the second's error", attempts[1].(map[string]any)["error"].(map[string]any)["class"], "boom")
	same(t, "args", v["args"].(map[string]any)["pin"], "s3cr3t")
	if len(v["transitions"].([]any)) < 5 {
		t.Errorf("transitions: %v", v["transitions"])
	}
	runWith(t, onDB(db), "", "jobs", "show", "999").complains(t, exitRefused, "no job 999")
}

func TestAnOperatorActsOnWhatWasSeen(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	id := fmt.Sprint(expiredOnce(t, db))
	seen := query[int64](t, db, `select revision from fenceline.jobs`)
	r := runWith(t, onDB(db), "", "jobs", "requeue", id, "--reason", "input fixed", "--seen", fmt.Sprint(seen), "--json").wants(t, exitOK)
	same(t, "the state", r.object(t)["state"], "available")

	stale := runWith(t, onDB(db), "", "jobs", "terminate", id, "--reason", "late", "--seen", fmt.Sprint(seen), "--json")
	stale.wants(t, exitRefused)
	problem := stale.object(t)["error"].(map[string]any)
	same(t, "the code", problem["code"], "changed")
	same(t, "what it is now", problem["job"].(map[string]any)["state"], "available")
	if !strings.Contains(stale.err, "changed since you looked") {
		t.Errorf("stderr: %s", stale.err)
	}

	read := runWith(t, onDB(db), "", "jobs", "terminate", id, "--reason", "not wanted").wants(t, exitOK)
	if !strings.Contains(read.out, "is available (revision") || !strings.Contains(read.out, "is terminated") {
		t.Errorf("it says: %s", read.out)
	}
	runWith(t, onDB(db), "", "jobs", "terminate", id, "--reason", "twice").complains(t, exitRefused, "already ended")
	runWith(t, onDB(db), "", "jobs", "requeue", "999", "--reason", "x").complains(t, exitRefused, "no job 999")
	runWith(t, onDB(db), "", "jobs", "requeue", id, "--reason", strings.Repeat("r", 20000)).wants(t, exitUsage)
	same(t, "the reason on the timeline", query[string](t, db, `select reason from fenceline.transitions where type = 'terminated'`), "not wanted")
	if by := query[string](t, db, `select actor from fenceline.audit where action = 'terminate' and outcome = 'done'`); !strings.HasPrefix(by, "cli") {
		t.Errorf("the audit names %q", by)
	}
}

func TestVerifySaysWhatIsWrongAndExitsWithOne(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	expiredOnce(t, db)
	good := runWith(t, onDB(db), "", "verify", "--json").wants(t, exitOK).object(t)
	same(t, "ok", good["ok"], true)
	same(t, "violations", good["violations"], "[]")
	same(t, "checked in the background", good["background"].(map[string]any)["transitions"], "0")
	if text := runWith(t, onDB(db), "", "verify").wants(t, exitOK).out; !strings.Contains(text, "In the background nothing was checked yet.") {
		t.Errorf("it says %s", text)
	}
	storetest.AwaitHorizon(t, db)
	if _, err := openStore(t, db).VerifyNext(t.Context()); err != nil {
		t.Fatal(err)
	}
	query[int64](t, db, `update fenceline.jobs set generation = generation + 1 returning id`)
	bad := runWith(t, onDB(db), "", "verify", "--json").wants(t, exitRefused).object(t)
	same(t, "ok", bad["ok"], false)
	if len(bad["violations"].([]any)) == 0 {
		t.Error("no violation is named")
	}
	if text := runWith(t, onDB(db), "", "verify").wants(t, exitRefused).out; !strings.Contains(text, "does not hold") || !strings.Contains(text, "In the background ") {
		t.Errorf("it says %s", text)
	}
}

// The verb counts what a running process counted, to the same numbers, mends those
// that are wrong, and keeps those of the log that is gone.
func TestRebuiltCountsAreEqualToThoseBefore(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	expiredOnce(t, db)
	storetest.AwaitHorizon(t, db)
	if _, err := openStore(t, db).Roll(t.Context()); err != nil {
		t.Fatal(err)
	}
	const counts = `select coalesce(jsonb_agg(to_jsonb(r) order by r.minute, r.queue, r.kind, r.type, r.reason), '[]')::text from fenceline.rollups r`
	before, log := query[string](t, db, counts), query[int64](t, db, `select count(*) from fenceline.transitions`)
	query[int64](t, db, `with wrong as (update fenceline.rollups set n = n + 1 returning 1) select count(*) from wrong`)
	wrong := query[int64](t, db, `select sum(n)::bigint from fenceline.rollups`)
	text := runWith(t, onDB(db), "", "rollups", "rebuild").wants(t, exitOK).out
	same(t, "the first words", text, fmt.Sprintf("%d transitions were counted before and %d are counted now, anew from the log.\n", wrong, log))
	same(t, "the counts", query[string](t, db, counts), before)

	query[int64](t, db, `with old as (insert into fenceline.rollups (minute, queue, kind, type, reason, n, marked, spans, span_ms, span_max_ms)
		values ('2020-01-01 00:00Z', 'default', 'old', 'enqueued', '', 7, 0, 0, 0, 0) returning 1) select count(*) from old`)
	query[int64](t, db, `with cut as (update fenceline.retention set log_before = '2020-01-02 00:00Z' returning 1) select count(*) from cut`)
	again := runWith(t, onDB(db), "", "rollups", "rebuild", "--json").wants(t, exitOK).object(t)
	same(t, "what is told", again, map[string]any{"ok": true, "removed": log, "counted": log, "since": "2020-01-02T00:00:00Z"})
	same(t, "counts of the log that is gone", query[int64](t, db, `select n from fenceline.rollups where kind = 'old'`), 7)
	if text := runWith(t, onDB(db), "", "rollups", "rebuild").wants(t, exitOK).out; !strings.Contains(text, "The log goes back to 2020-01-02 00:00:00.000Z; counts of what was before that are kept") {
		t.Errorf("it says %s", text)
	}
}

func TestADatabaseWithoutSchemaIsNamedAndMigrated(t *testing.T) {
	t.Parallel()
	db := emptyDatabase(t)
	runWith(t, onDB(db), "", "jobs", "list").complains(t, exitRefused, "fenceline migrate")
	runWith(t, onDB(db), "", "migrate").wants(t, exitOK)
	runWith(t, onDB(db), "", "migrate", "--json").wants(t, exitOK)
	runWith(t, onDB(db), "", "jobs", "list").wants(t, exitOK)
}
