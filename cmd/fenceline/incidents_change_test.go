package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestIncidentsAreTakenMergedAndReportedOnFromTheCommandLine(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	job := expiredOnce(t, db)
	if _, err := openStore(t, db).Watch(t.Context(), []store.Sighting{
		{Rule: "backlog", Scope: "queue mail", Queue: "mail", Severity: "medium", What: "late"},
		{Rule: "expiry-spike", Severity: "high", What: "a lease ran out", Types: []store.Type{store.TypeExpired}},
	}, time.Hour); err != nil {
		t.Fatal(err)
	}
	verb := func(args ...string) result {
		return runWith(t, onDB(db), "", append([]string{"incidents"}, args...)...)
	}
	same(t, "who has it", verb("ack", "2", "--seen", "1", "--for", "2h", "--json").wants(t, exitOK).object(t)["state"], "acknowledged")
	verb("snooze", "2", "--seen", "1", "--for", "1h").complains(t, exitRefused, "changed since you looked")
	verb("snooze", "2", "--for", "0s").complains(t, exitUsage, "--for")
	for _, said := range []result{verb("snooze", "1", "--for", "1h").wants(t, exitOK), verb("list").wants(t, exitOK)} {
		if !strings.Contains(said.out, "1  open, snoozed until 2") {
			t.Errorf("a snooze is not told: %s", said.out)
		}
	}
	if said := verb("list", "--json").wants(t, exitOK).out; strings.Count(said, `"snoozed_until":"`) != 1 {
		t.Errorf("a snooze is not told to programs: %s", said)
	}
	if said := verb("notices").wants(t, exitOK).out; !strings.Contains(said, "Nobody is told of incidents") || !strings.Contains(said, "--http") {
		t.Errorf("it does not say that nobody is told and how to change that: %s", said)
	}
	verb("weigh", "1", "--severity", "dire").complains(t, exitUsage, "--severity")
	same(t, "the severity", verb("weigh", "1", "--severity", "low", "--json").wants(t, exitOK).object(t)["severity"], "low")
	verb("merge", "2", "--into", "2").complains(t, exitUsage, "--into")
	verb("merge", "2", "--into", "7").complains(t, exitUsage, "does not exist")
	same(t, "the state", verb("merge", "2", "--into", "1", "--reason", "one cause", "--json").wants(t, exitOK).object(t)["state"], "resolved")
	verb("ack", "99").complains(t, exitRefused, "there is no incident 99")
	verb("report", "99").complains(t, exitRefused, "there is no incident 99")
	report := verb("report", "1").wants(t, exitOK).out
	for _, words := range []string{"# ", "one cause", "a lease ran out"} {
		if !strings.Contains(report, words) {
			t.Errorf("the report does not say %q:\n%s", words, report)
		}
	}
	jobs := verb("report", "1", "--json").wants(t, exitOK).object(t)["jobs"].(map[string]any)["list"].([]any)
	if len(jobs) != 1 {
		t.Fatalf("the report holds %d jobs", len(jobs))
	}
	same(t, "the job", jobs[0].(map[string]any)["id"], fmt.Sprint(job))
	file := filepath.Join(t.TempDir(), "incident.json")
	exported := verb("report", "1", "--json").wants(t, exitOK).out
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	offline := func(args ...string) result {
		return runWith(t, nil, exported, append([]string{"incidents", "replay"}, args...)...)
	}
	told := offline(file).wants(t, exitOK).out
	for _, words := range []string{"Incident 1: ", "one cause", "a lease ran out", "opened", "took in", "Expiries     1", "Made at"} {
		if !strings.Contains(told, words) {
			t.Errorf("the report that was read again does not say %q:\n%s", words, told)
		}
	}
	same(t, "the report read again", strings.Join(strings.Fields(offline("-", "--json").wants(t, exitOK).out), ""), strings.Join(strings.Fields(exported), ""))
	if err := os.WriteFile(file, []byte(strings.Replace(exported, `"id": "1"`, `"id": "one"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	offline(file).complains(t, exitUsage, "incident.json: id: must be an id")
	verb("report", "9").complains(t, exitRefused, "incident 9")
}
