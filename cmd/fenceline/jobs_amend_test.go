package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fenceline/fenceline/store"
)

func TestOneJobIsCorrectedChangedCopiedAndErasedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	id := fmt.Sprint(expiredOnce(t, db))
	run := func(args ...string) result { return runWith(t, onDB(db), "", append([]string{"jobs"}, args...)...) }
	seen := fmt.Sprint(query[int64](t, db, `select revision from fenceline.jobs`))
	runWith(t, onDB(db), `{"pin": "other", "n": 1.50}`, "jobs", "requeue", id, "--args", "-", "--reason", "the input", "--seen", seen, "--json").wants(t, exitOK)
	same(t, "the args", query[string](t, db, `select args::text from fenceline.jobs`), `{"n": 1.50, "pin": "other"}`)
	stale := run("amend", id, "--priority", "-5", "--reason", "late", "--seen", seen, "--json")
	stale.wants(t, exitRefused)
	same(t, "what it is now", stale.object(t)["error"].(map[string]any)["job"].(map[string]any)["state"], "available")
	amended := run("amend", id, "--priority", "-5", "--queue", "slow", "--run-at", "+1h", "--max-attempts", "30", "--add-tag", "vip", "--reason", "r", "--json").wants(t, exitOK).object(t)
	same(t, "the change", fmt.Sprintf("%v %v %v %v %v", amended["priority"], amended["queue"], amended["state"], amended["max_attempts"], amended["tags"]), "-5 slow scheduled 30 [vip]")
	run("note", id, "--reason", "the customer was called").wants(t, exitOK)

	list := run("versions", id).wants(t, exitOK).out
	if !strings.Contains(list, "has version 2") || !strings.Contains(list, "the input") || strings.Contains(list, "s3cr3t") {
		t.Error(list)
	}
	same(t, "recorded looks", query[int](t, db, `select count(*) from fenceline.audit where action = 'reveal'`), 0)
	if shown := run("versions", id, "--reveal", "1").wants(t, exitOK).out; !strings.Contains(shown, "s3cr3t") {
		t.Error(shown)
	}
	same(t, "recorded looks", query[int](t, db, `select count(*) from fenceline.audit where action = 'reveal'`), 1)
	run("versions", id, "--reveal", "7").complains(t, exitRefused, "no version 7")
	run("amend", id, "--restore", "1", "--reason", "they were right").wants(t, exitOK)
	kept := run("versions", id, "--json").wants(t, exitOK).object(t)
	same(t, "the versions", fmt.Sprintf("%v %d", kept["version"], len(kept["versions"].([]any))), "3 2")

	copied := run("duplicate", id, "--args", `{"pin":"third"}`, "--run-at", "+0s", "--reason", "for another", "--json").wants(t, exitOK).object(t)
	same(t, "the copy", fmt.Sprintf("%v %v %v", copied["state"], copied["queue"], copied["args_version"]), "available slow 1")
	run("erase", id, "--reason", "too soon").complains(t, exitRefused, "has not ended")
	run("terminate", id, "--reason", "over").wants(t, exitOK)
	run("erase", id, "--reason", "asked for").wants(t, exitOK)
	shown := run("show", id, "--json").wants(t, exitOK).object(t)
	same(t, "what is left", shown["args"], nil)
	if text := run("show", id).wants(t, exitOK).out; !strings.Contains(text, "erased at ") || strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
	if text := run("versions", id).wants(t, exitOK).out; !strings.Contains(text, "were erased") {
		t.Error(text)
	}
	if text := run("show", id).wants(t, exitOK).out; !strings.Contains(text, "Args, result and the texts of errors and outputs were erased at 20") || strings.Contains(text, "bytes)") {
		t.Error(text)
	}
	run("requeue", id, "--reason", "again").complains(t, exitRefused, "were erased")
	for _, wrong := range [][]string{
		{"amend", id}, {"amend", id, "--max-attempts", "0"}, {"amend", id, "--restore", "0"}, {"amend", id, "--run-at", "soon"}, {"amend", id, "--args", "{"},
		{"amend", id, "--args", ""}, {"amend", id, "--priority", "x"}, {"requeue", id, "--args", "@/none"}, {"requeue", id, "--args", "1", "--restore", "1"}, {"note", id, "--priority", "1"},
	} {
		run(append(wrong, "--reason", "x")...).wants(t, exitUsage)
	}
	run("note", id).complains(t, exitUsage, "--reason: is required")
}

func TestAPreviewOfNamedJobsIsBoundToWhatWasSeen(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	st := openStore(t, db)
	for range 2 {
		if _, err := st.Enqueue(t.Context(), store.Request{Kind: "report"}); err != nil {
			t.Fatal(err)
		}
	}
	runWith(t, onDB(db), "", "jobs", "note", "1", "--reason", "look").wants(t, exitOK)
	o := runWith(t, onDB(db), "", "operations", "preview", "terminate", "--job", "1@1", "--job", "2", "--json").wants(t, exitOK).object(t)
	same(t, "what would be left alone", fmt.Sprint(o["expected"]), "map[changed:1]")
	for _, wrong := range []string{"1@", "@1", "1@0", "x", "1@2@3"} {
		runWith(t, onDB(db), "", "operations", "preview", "terminate", "--job", wrong).complains(t, exitUsage, "--job:")
	}
}
