package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestJobsAreWorkedToTheEndAlthoughAWorkerIsKilled(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	const jobs = 400
	var in strings.Builder
	for i := range jobs {
		fmt.Fprintf(&in, `{"kind":"command","args":{"name":"echo","input":{"n":%d}}}`+"\n", i)
	}
	runWith(t, onDB(db), in.String(), "enqueue", "--ndjson").wants(t, exitOK)
	args := []string{"worker", "--workers", "8", "--lease", "5s", "--command", "echo=/bin/cat", "--log-level", "warn"}
	doomed, other := begin(t, onDB(db), args...), begin(t, onDB(db), args...)
	done := func() int {
		return query[int](t, db, `select count(*) from fenceline.jobs where state = 'completed'`)
	}
	eventually(t, "the work to be under way", func() bool { return done() > jobs/10 })
	doomed.signal(syscall.SIGKILL)
	if doomed.wait() == exitOK {
		t.Fatal("it was not killed")
	}
	eventually(t, "every job", func() bool { return done() == jobs })
	other.signal(syscall.SIGTERM)
	if code := other.wait(); code != exitOK {
		t.Errorf("exit code %d: %s", code, other.err)
	}
	same(t, "results of their own input", query[int](t, db,
		`select count(*) from fenceline.jobs where result->'n' = args->'input'->'n'`), jobs)
	v := runWith(t, onDB(db), "", "verify", "--json").wants(t, exitOK).object(t)
	same(t, "ok", v["ok"], true)
	same(t, "verified jobs", v["jobs"], jobs)
}

func TestAWorkerWorksTheQueuesThatItNames(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, queue := range []string{"mail", "slow", "default"} {
		runWith(t, onDB(db), "", "enqueue", "noop", "--queue", queue).wants(t, exitOK)
	}
	w := begin(t, append(onDB(db), "FENCELINE_QUEUE=mail=1,slow=2"), "worker", "--workers", "0", "--name", "east")
	eventually(t, "two completed jobs", func() bool {
		return query[int](t, db, `select count(*) from fenceline.jobs where state = 'completed'`) == 2
	})
	same(t, "the queue of the one that waits", query[string](t, db, `select queue from fenceline.jobs where state = 'available'`), "default")
	if id := query[string](t, db, `select max(worker) from fenceline.jobs`); !strings.HasPrefix(id, "east-") {
		t.Errorf("the worker is called %s", id)
	}
	w.signal(syscall.SIGTERM)
	same(t, "the exit code", w.wait(), exitOK)
}
