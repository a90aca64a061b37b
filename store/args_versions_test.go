package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/redact"
)

// Every version is kept under its number and can be restored without being seen;
// erasure leaves none.
func TestOlderArgsAreKeptRestoredAndErased(t *testing.T) {
	f := open(t)
	const card, name = "4111-1111", "Berta Canary"
	id := f.enqueue(store.Request{Args: json.RawMessage(`{"card":"4111-1111"}`), Key: "k", MaxAttempts: 1, Tags: []string{"old"}})
	f.fail("a", store.Failure{Lease: f.claim("a"), Delay: time.Hour, Error: store.AttemptError{Class: "timeout", Message: "no " + card, Trace: card}, Output: card})
	want := func(version int64, args string) {
		t.Helper()
		p, err := f.Payload(f.ctx, id)
		if err != nil || string(p.Args) != args || f.job(id).ArgsVersion != version {
			t.Errorf("%s at %d, %v", p.Args, f.job(id).ArgsVersion, err)
		}
	}
	if _, err := f.RequeueWith(f.ctx, f.seen(id), raw(`{"name":"Berta Canary"}`)); err != nil {
		t.Fatal(err)
	}
	want(2, `{"name": "Berta Canary"}`)
	if j, err := f.Amend(f.ctx, f.seen(id), store.Change{NewArgs: store.NewArgs{Restore: 1}, RemoveTag: "old", AddTag: "new"}); err != nil || len(j.Tags) != 1 || j.Tags[0] != "new" {
		t.Fatal(j, err)
	}
	want(3, `{"card": "4111-1111"}`)
	kept, err := f.ArgsVersions(f.ctx, id)
	if err != nil || len(kept) != 2 || kept[0].Version != 2 || kept[1].Version != 1 || kept[0].ReplacedBy != "oncall" || kept[0].Reason != "because" || kept[0].ReplacedAt.IsZero() {
		t.Errorf("%+v %v", kept, err)
	}
	for version, args := range map[int64]string{1: `{"card": "4111-1111"}`, 2: `{"name": "Berta Canary"}`, 3: `{"card": "4111-1111"}`} {
		before := value[int](f, "select count(*) from fenceline.audit where action = 'reveal'")
		got, err := f.RevealArgs(f.ctx, id, version, "auditor")
		plain, _ := f.ShowArgs(f.ctx, id, version, redact.Revealed)
		if err != nil || string(got) != args || string(plain) != args || value[int](f, "select count(*) from fenceline.audit where action = 'reveal' and detail ->> 'args_version' is not null") != before+1 {
			t.Errorf("version %d: %s %s %v", version, got, plain, err)
		}
	}
	for _, none := range []int64{0, 4} {
		if _, err := f.RevealArgs(f.ctx, id, none, "auditor"); !errors.Is(err, store.ErrNoVersion) {
			t.Errorf("version %d: %v", none, err)
		}
	}
	f.complete("a", f.claim("a"), `{"to":"Berta Canary"}`)
	f.consistent()

	if _, err := f.Erase(f.ctx, f.seen(id)); err != nil {
		t.Fatal(err)
	}
	j := f.job(id)
	want(3, "")
	if _, err := f.RevealArgs(f.ctx, id, 1, "auditor"); !errors.Is(err, store.ErrNoVersion) {
		t.Errorf("a version that was erased: %v", err)
	}
	if p, _ := f.Payload(f.ctx, id); p.Result != nil || j.ErasedAt.IsZero() || j.State != store.Completed || j.ResultAttemptID != uuid.Nil {
		t.Errorf("%s %+v", p.Result, j)
	}
	all := value[string](f, `select string_agg(x, ' ') from (
		select j::text from fenceline.jobs j union all select t::text from fenceline.transitions t union all select a::text from fenceline.audit a
		union all select v::text from fenceline.args_versions v union all select e::text from fenceline.attempt_errors e
		union all select o::text from fenceline.attempt_outputs o) as every (x)`)
	for _, secret := range []string{card, name, "6d4111"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is left somewhere: %s", secret, all)
		}
	}
	if fails, _ := f.Failures(f.ctx, id); len(fails) != 1 || fails[0].Class != "timeout" || fails[0].Fingerprint == "" || fails[0].Message+fails[0].Trace+fails[0].Output != "" {
		t.Errorf("%+v", fails)
	}
	var conflict *store.ConflictError
	for what, do := range map[string]doing{
		"requeue": f.doing(f.Requeue), "erase": f.doing(f.Erase),
		"duplicate": func(p store.OperatorParams) (store.Job, error) { return f.Duplicate(f.ctx, p, store.Change{}) },
	} {
		if _, err := do(f.seen(id)); !errors.As(err, &conflict) || conflict.Why != store.ConflictErased {
			t.Errorf("%s of what is erased: %v", what, err)
		}
	}
	var invalid *store.InvalidError
	if _, err := f.RequeueWith(f.ctx, f.seen(id), store.NewArgs{Restore: 1}); !errors.As(err, &invalid) || invalid.Field != "restore" {
		t.Errorf("restored what was erased: %v", err)
	}
	var taken *store.KeyConflictError
	if _, err := f.Enqueue(f.ctx, store.Request{Kind: "report", Key: "k", Args: json.RawMessage(`{"card":"4111-1111"}`), MaxAttempts: 1, Tags: []string{"old"}}); !errors.As(err, &taken) || taken.JobID != id {
		t.Errorf("the request that was erased: %v", err)
	}
	o := f.preview(store.ActionRequeue, "state:completed")
	if o.Expected[store.ConflictErased] != 1 {
		t.Errorf("%+v", o.Expected)
	}
	f.confirm(o, store.Rules{})
	if _, err := f.StepOperation(f.ctx, "w"); err != nil {
		t.Fatal(err)
	}
	if why := value[string](f, "select why from fenceline.operation_skips where job_id = $1", id); why != "erased" {
		t.Errorf("left alone because %q", why)
	}
	if r := f.verify(); !r.OK {
		t.Errorf("%+v", r.Violations)
	}
	if _, err := f.RequeueWith(f.ctx, f.seen(id), raw(`{"n":4}`)); err != nil {
		t.Fatal(err)
	}
	want(4, `{"n": 4}`)
	if _, err := f.Amend(f.ctx, f.seen(id), store.Change{NewArgs: raw(`{"n":5}`)}); err != nil {
		t.Fatal(err)
	}
	if kept, _ := f.ArgsVersions(f.ctx, id); len(kept) != 1 || kept[0].Version != 4 {
		t.Errorf("%+v", kept)
	}
	f.consistent()
	if r := f.verify(); !r.OK {
		t.Errorf("%+v", r.Violations)
	}
	// They go with their job.
	f.complete("a", f.claim("a"), `1`)
	f.exec("update fenceline.jobs set finished_at = finished_at - interval '2 days', created_at = created_at - interval '3 days'")
	if n, _, err := f.RemoveJobs(f.ctx, 24*time.Hour); err != nil || n != 1 {
		t.Errorf("%d %v", n, err)
	}
	if n := value[int](f, "select count(*) from fenceline.args_versions"); n != 0 {
		t.Errorf("%d versions are left", n)
	}
}

func TestACorrectionKeepsWhatARuleKeptFromItsAuthor(t *testing.T) {
	f := open(t)
	id := f.enqueue(store.Request{Args: json.RawMessage(`{"password": "hunter-22", "to": "ada", "logins": [{"password": "p-1"}]}`)})
	seen := f.job(id).Revision
	correct := func(args string) (store.Job, error) {
		return f.Amend(f.ctx, store.OperatorParams{JobID: id, Seen: seen, Actor: "oncall", Reason: "typo"}, store.Change{NewArgs: store.NewArgs{Args: json.RawMessage(args)}})
	}
	var invalid *store.InvalidError
	if _, err := correct(`{"password": "•••", "to": "eve", "logins": [{"password": "•••"}]}`); !errors.As(err, &invalid) || invalid.Field != "args" || !strings.Contains(invalid.Message, "args.logins.0.password") {
		t.Errorf("a cover in a list: %v", err)
	}
	if _, err := correct(`{"password": "•••", "to": "eve"}`); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Payload(f.ctx, id); err != nil || string(p.Args) != `{"to": "eve", "password": "hunter-22"}` {
		t.Errorf("%s %v", p.Args, err)
	}
	for version, want := range map[int64]string{1: "p-1", 2: "hunter-22"} {
		if args, err := f.RevealArgs(f.ctx, id, version, "auditor"); err != nil || strings.Contains(string(args), want) || !strings.Contains(string(args), "•••") {
			t.Errorf("version %d is revealed as %s, %v", version, args, err)
		}
	}
}
