package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEnqueuePrintsTheStoredJob(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	r := runWith(t, onDB(db), "", "enqueue", "report", "--args", `{"n": 12345678901234567890.5}`, "--key", "k",
		"--queue", "slow", "--priority", "-3", "--max-attempts", "4", "--tag", "a,b", "--tag", "c", "--json").wants(t, exitOK)
	j := r.object(t)
	for field, want := range map[string]any{"kind": "report", "queue": "slow", "key": "k", "priority": -3,
		"max_attempts": 4, "state": "available", "generation": 0, "revision": 1, "existing": false, "tags": "[a,b c]"} {
		same(t, field, j[field], want)
	}
	if _, isText := j["id"].(string); !isText {
		t.Errorf("id is %T, not a string", j["id"])
	}
	same(t, "the stored number", query[string](t, db, `select args->>'n' from fenceline.jobs`), "12345678901234567890.5")
	if by := query[string](t, db, `select enqueued_by from fenceline.jobs`); !strings.HasPrefix(by, "cli") {
		t.Errorf("enqueued by %q", by)
	}
}

func TestArgsComeFromAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	file := filepath.Join(t.TempDir(), "args.json")
	if err := os.WriteFile(file, []byte(`{"from": "file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	runWith(t, onDB(db), "", "enqueue", "a", "--args", "@"+file).wants(t, exitOK)
	runWith(t, onDB(db), `{"from": "stdin"}`, "enqueue", "b", "--args", "-").wants(t, exitOK)
	got := query[string](t, db, `select string_agg(args->>'from', ' ' order by id) from fenceline.jobs`)
	same(t, "what was stored", got, "file stdin")
}

func TestAnEnqueueThatIsRepeatedConvergesAndOneThatDiffersIsRefused(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	first := runWith(t, onDB(db), "", "enqueue", "report", "--key", "k", "--json").wants(t, exitOK).object(t)
	again := runWith(t, onDB(db), "", "enqueue", "report", "--key", "k", "--json").wants(t, exitOK).object(t)
	same(t, "the second id", again["id"], first["id"])
	same(t, "existing", again["existing"], true)
	runWith(t, onDB(db), "", "enqueue", "report", "--key", "k", "--args", "[1]").complains(t, exitRefused, `"k"`, "different request")
	same(t, "jobs", query[int](t, db, `select count(*) from fenceline.jobs`), 1)
}

func TestADelayCountsOnTheDatabasesClock(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	runWith(t, onDB(db), "", "enqueue", "late", "--run-at", "+90m").wants(t, exitOK)
	runWith(t, onDB(db), "", "enqueue", "fixed", "--run-at", "2090-01-31T08:00:00+01:00").wants(t, exitOK)
	wait := query[time.Duration](t, db, `select run_at - clock_timestamp() from fenceline.jobs where kind = 'late'`)
	if wait > 90*time.Minute || wait < 88*time.Minute {
		t.Errorf("it is due in %s, not in 90 minutes", wait)
	}
	at := query[time.Time](t, db, `select run_at from fenceline.jobs where kind = 'fixed'`)
	same(t, "the fixed time", at.UTC(), "2090-01-31 07:00:00 +0000 UTC")
}

func TestAJobThatCannotBeStoredIsRefusedByTheFlagsName(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"--args", []string{"report", "--args", "{"}},
		{"--args", []string{"report", "--args", `{"a": "\u0000"}`}},
		{"--args.a[0]", []string{"report", "--args", `{"a": ["\ud800"]}`}},
		{"--args", []string{"report", "--args", "-"}},
		{"--key", []string{"report", "--key", strings.Repeat("k", 2000)}},
		{"--key", []string{"report", "--key", "a\nb"}},
		{"KIND", []string{strings.Repeat("k", 2000)}},
		{"argument 4", []string{"report", "--queue", "\xff"}},
		{"--run-at", []string{"report", "--run-at", "tomorrow"}},
		{"--run-at", []string{"report", "--run-at", "+later"}},
		{"--run-at", []string{"report", "--run-at", "9999999-01-01T00:00:00Z"}},
		{"--run-at", []string{"report", "--run-at", "0001-01-01T00:00:00Z"}},
		{"--max-attempts", []string{"report", "--max-attempts", "1000001"}},
		{"--tag", []string{"report", "--tag", ""}},
	} {
		t.Run(strings.Join(c.args[1:min(3, len(c.args))], " "), func(t *testing.T) {
			runWith(t, onDB(db), "", append([]string{"enqueue"}, c.args...)...).complains(t, exitUsage, c.words)
		})
	}
	same(t, "jobs", query[int](t, db, `select count(*) from fenceline.jobs`), 0)
}
