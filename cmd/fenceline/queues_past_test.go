package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestTheCommandLineShowsQueuesInAMinuteThatIsOver(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	st, env := openStore(t, db), onDB(db)
	if _, err := st.Enqueue(t.Context(), store.Request{Kind: "report", Queue: "mail"}); err != nil {
		t.Fatal(err)
	}
	if did, err := st.SampleQueues(t.Context()); err != nil || !did {
		t.Fatal(did, err)
	}
	if _, err := st.Watch(t.Context(), []store.Sighting{{Rule: "backlog", Scope: "queue mail", Queue: "mail", Severity: "medium", What: "late"}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Add(-9 * time.Hour).Truncate(time.Minute)
	query[int64](t, db, "with moved as (update fenceline.queue_minutes set minute = $1, at = $1::timestamptz + interval '7 seconds' returning 1) select count(*) from moved", at)
	query[int64](t, db, "with moved as (update fenceline.incident_entries set at = $1 returning 1), began as (update fenceline.incidents set opened_at = $1) select count(*) from moved", at)
	query[int64](t, db, `with late as (insert into fenceline.transitions (job_id, at, type, kind, queue) values (1, $1::timestamptz + interval '3 seconds', 'failed', 'report', 'mail') returning id) select id from late`, at)

	for deadline := time.Now().Add(60 * time.Second); !query[bool](t, db, "select exists (select from fenceline.rollups where minute = $1)", at); {
		if _, err := st.Roll(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatal("the log is not counted: ", err)
		}
	}

	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04Z", "2006-01-02 15:04", "15:04"} {
		out := runWith(t, env, "", "queues", "list", "--at", at.Format(form)).wants(t, exitOK).out
		if !regexp.MustCompile(`mail +1 +\S+ +0 +0 +0 +1 +0 +0\n`).MatchString(out) {
			t.Errorf("%s: the queue: %s", form, out)
		}
		for _, words := range []string{"Jobs of the minute that are still there, each once: 0 completed, 0 lost a lease", "Open then: incident 1, backlog queue mail.",
			"At " + at.Format("2006-01-02 15:04") + " UTC. What stood in the queues was read at " + at.Format("15:04") + ":07."} {
			if !strings.Contains(out, words) {
				t.Errorf("%s: it does not say %q: %s", form, words, out)
			}
		}
	}
	told := runWith(t, env, "", "queues", "list", "--at", at.Format("2006-01-02T15:04"), "--json").wants(t, exitOK).object(t)
	mail := told["queues"].([]any)[0].(map[string]any)
	same(t, "the queue", fmt.Sprint(mail["queue"], mail["waiting"], mail["running"], mail["failed"], mail["completed"]), "mail1010")
	same(t, "the incidents", fmt.Sprint(told["incidents"]), "[1]")
	same(t, "kept", told["before_all_counts"], false)

	// A minute of which nothing stood written down, and one before all that is kept.
	if out := runWith(t, env, "", "queues", "list", "--at", at.Add(time.Hour).Format("2006-01-02T15:04")).wants(t, exitOK).out; !strings.Contains(out, "Nobody wrote down what stood in the queues.") {
		t.Errorf("between: %s", out)
	}
	if out := runWith(t, env, "", "queues", "list", "--at", "2001-01-31T03:12").wants(t, exitOK).out; out != "Nothing is known of 2001-01-31 03:12: it lies before all counts that are kept.\n" {
		t.Errorf("long ago: %s", out)
	}
	for _, wrong := range []string{"soon", "25:00", "0001-01-01T00:00", time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04")} {
		runWith(t, env, "", "queues", "list", "--at", wrong).complains(t, exitUsage, "--at: "+wrong)
	}
	runWith(t, env, "", "queues", "list", "--at=").complains(t, exitUsage, "--at")
}
