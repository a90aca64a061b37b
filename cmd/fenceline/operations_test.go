package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestManyJobsAreActedOnFromTheCommandLineWithTheConsolesGuards(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	st := openStore(t, db)
	for i := range 5 {
		if _, err := st.Enqueue(t.Context(), store.Request{Kind: "report", Key: fmt.Sprint(i), RunAt: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	env := onDB(db)
	shown := runWith(t, env, "", "operations", "preview", "terminate", "--search", "kind:report").wants(t, exitOK).out
	if !strings.Contains(shown, "terminate 5 jobs: kind is report. It is preview") || !strings.Contains(shown, "operations confirm 1 --seen 1") {
		t.Errorf("the preview: %s", shown)
	}
	runWith(t, env, "", "operations", "preview", "terminate", "--search", "kind:nowhere").complains(t, exitUsage, "--search: selects no job")
	runWith(t, env, "", "jobs", "requeue", "2", "--reason", "by hand").wants(t, exitOK)
	first := runWith(t, env, "", "operations", "confirm", "1", "--reason", "duplicates", "--pace", "100000", "--json").wants(t, exitOK).object(t)
	same(t, "its state", first["state"], "running")
	again := runWith(t, env, "", "operations", "confirm", "1", "--reason", "duplicates").wants(t, exitOK)
	if !strings.Contains(again.out, "nothing was done twice") {
		t.Errorf("a repeat: %s", again.out)
	}
	stale := runWith(t, env, "", "operations", "pause", "1", "--reason", "wait", "--seen", "1", "--json").wants(t, exitRefused).object(t)
	same(t, "the conflict's state", stale["error"].(map[string]any)["operation"].(map[string]any)["state"], "running")
	runWith(t, env, "", "operations", "pause", "1", "--reason", "wait").wants(t, exitOK)
	runWith(t, env, "", "operations", "resume", "1", "--reason", "go on").wants(t, exitOK)
	for {
		step, err := st.StepOperation(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		if step.ID == 0 && step.Next < 0 {
			break
		}
		if step.ID == 0 {
			time.Sleep(step.Next) // the rest after a step
		}
	}
	end := runWith(t, env, "", "operations", "show", "1", "--json").wants(t, exitOK).object(t)
	same(t, "done", fmt.Sprint(end["done"]), "4")
	skipped := runWith(t, env, "", "operations", "skipped", "1", "--json").wants(t, exitOK).object(t)["skipped"].([]any)
	same(t, "left alone", skipped[0].(map[string]any)["job_id"], "2")
	if out := runWith(t, env, "", "operations", "skipped", "1").wants(t, exitOK).out; !strings.Contains(out, "changed") {
		t.Errorf("left alone: %s", out)
	}
	if out := runWith(t, env, "", "operations", "list").wants(t, exitOK).out; !strings.Contains(out, "finished") {
		t.Errorf("the list: %s", out)
	}
	named := runWith(t, env, "", "operations", "preview", "requeue", "--job", "1", "--job", "3", "--json").wants(t, exitOK).object(t)
	same(t, "jobs named one by one", fmt.Sprint(named["total"]), "2")
	runWith(t, env, "", "operations", "cancel", fmt.Sprint(named["id"]), "--reason", "x").complains(t, exitRefused, "is preview now", "there is nothing to cancel")
	runWith(t, env, "", "operations", "preview", "requeue", "--search", "kind:nowhere").wants(t, exitUsage)
	runWith(t, env, "", "operations", "show", "99").complains(t, exitRefused, "no operation 99")
	kept := runWith(t, env, "", "operations", "preview", "requeue", "--search=-args.a:1", "--json").wants(t, exitOK).object(t)
	same(t, "a search in args", kept["q"], nil)

	ada, err := st.AddPerson(t.Context(), "test", "ada", store.Powers{Role: store.RoleAdmin}, "x")
	if err != nil {
		t.Fatal(err)
	}
	o, err := st.PreviewOperation(t.Context(), store.OperationRequest{Action: store.ActionRequeue, Actor: "ada", Ticked: []store.Ticked{{JobID: 1, Revision: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.ConfirmOperation(t.Context(), store.OperationParams{ID: o.ID, Seen: 1, Actor: "ada", Reason: "x", By: store.Mandate{PersonID: ada.ID}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Disable(t.Context(), "test", store.SeenPerson{Name: "ada", Elsewhere: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.StepOperation(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(o.ID)
	if out := runWith(t, env, "", "operations", "show", id).wants(t, exitOK).out; !strings.Contains(out, "Halted: ada, who confirmed it, has an account that is disabled.") || !strings.Contains(out, "0 of 1 dealt with") {
		t.Errorf("halted: %s", out)
	}
	resumed := runWith(t, env, "", "operations", "resume", id, "--reason", "still needed", "--halt-above", "30", "--json").wants(t, exitOK).object(t)
	same(t, "resumed", fmt.Sprint(resumed["state"], resumed["halt_code"], resumed["confirmed_by"]), "running<nil>ada")
	if out := runWith(t, env, "", "operations", "show", id).wants(t, exitOK).out; !strings.Contains(out, "Carried on for cli") || !strings.Contains(out, "judges what was requeued since it was resumed at 20") {
		t.Errorf("resumed: %s", out)
	}
}

func TestQueuesKindsAndWorkersAreSetFromTheCommandLineWithTheConsolesGuards(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	st := openStore(t, db)
	env := onDB(db)
	for _, name := range []string{"a/b%2F ü", strings.Repeat("x", 200), "--odd"} {
		set := runWith(t, env, "", "queues", "pause", "--queue="+name, "--reason", "look first", "--for", "1h", "--seen", "0", "--json").wants(t, exitOK).object(t)
		same(t, "the name", set["name"], name)
		same(t, "paused", set["paused"], true)
	}
	stale := runWith(t, env, "", "queues", "limit", "--queue", "a/b%2F ü", "--concurrency", "3", "--seen", "0", "--reason", "x", "--json").wants(t, exitRefused).object(t)
	now := stale["error"].(map[string]any)["control"].(map[string]any)
	same(t, "what is set now", fmt.Sprint(now["revision"], " ", now["paused"]), "1 true")
	limited := runWith(t, env, "", "queues", "limit", "--kind", "report", "--concurrency", "3", "--rate", "100", "--reason", "x", "--json").wants(t, exitOK).object(t)
	same(t, "the limits", fmt.Sprint(limited["concurrency"], " ", limited["rate"], " ", limited["per"]), "3 100 1m0s")
	runWith(t, env, "", "queues", "resume", "--queue", "a/b%2F ü", "--reason", "done").wants(t, exitOK)
	runWith(t, env, "", "queues", "resume", "--queue", "a/b%2F ü", "--reason", "done").complains(t, exitRefused, "is not paused")
	runWith(t, env, "", "queues", "pause", "--all", "--reason", "maintenance").wants(t, exitOK)
	list := runWith(t, env, "", "queues", "list").wants(t, exitOK).out
	for _, part := range []string{"Everything is paused by", "at most 3 at once, at most 100 each 1m0s", "--odd"} {
		if !strings.Contains(list, part) {
			t.Errorf("the list lacks %q: %s", part, list)
		}
	}
	if err := st.RegisterWorker(t.Context(), store.WorkerStart{ID: "w-1", Host: "h", Beat: time.Minute}); err != nil {
		t.Fatal(err)
	}
	drained := runWith(t, env, "", "workers", "drain", "w-1", "--reason", "replace it", "--json").wants(t, exitOK).object(t)
	same(t, "drained", drained["paused"], true)
	workers := runWith(t, env, "", "workers", "list", "--json").wants(t, exitOK).object(t)["workers"].([]any)
	same(t, "its status", workers[0].(map[string]any)["status"], "drained")
	if out := runWith(t, env, "", "workers", "list").wants(t, exitOK).out; !strings.Contains(out, "drained by cli") {
		t.Errorf("the list: %s", out)
	}
	runWith(t, env, "", "workers", "resume", "w-1", "--reason", "x").wants(t, exitOK)
	runWith(t, env, "", "workers", "drain", "w-2", "--reason", "x").complains(t, exitRefused, "no worker w-2")
	if n := query[int](t, db, "select count(*) from fenceline.audit where actor like 'cli%' and detail ? 'control'"); n < 8 {
		t.Errorf("%d changes in the audit", n)
	}
}
