package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

func TestADuplicateIsANewJobAndBothTellOfIt(t *testing.T) {
	f := open(t)
	of := f.enqueue(store.Request{Kind: "report", Key: "k", Queue: "q", Args: json.RawMessage(`{"n":1.50}`), Priority: 4, MaxAttempts: 7, Tags: []string{"a", "b"}})
	p := f.seen(of)
	p.Request = uuid.New()
	got, err := f.Duplicate(f.ctx, p, store.Change{})
	if err != nil {
		t.Fatal(err)
	}
	if got.ID == of || got.Kind != "report" || got.Key != "" || got.Queue != "q" || got.Priority != 4 || got.MaxAttempts != 7 || len(got.Tags) != 2 ||
		got.State != store.Available || got.EnqueuedBy != "oncall" || got.ParentID != 0 {
		t.Errorf("%+v", got)
	}
	if p, _ := f.Payload(f.ctx, got.ID); string(p.Args) != `{"n": 1.50}` {
		t.Errorf("%s", p.Args)
	}
	from, _ := f.history(of)
	made, _ := f.history(got.ID)
	if last := from[len(from)-1]; last.Type != store.TypeDuplicated || last.Detail.Copy != got.ID || len(made) != 1 || made[0].Detail.CopyOf != of {
		t.Errorf("%+v\n%+v", last, made)
	}
	if again, err := f.Duplicate(f.ctx, p, store.Change{}); err != nil || again.ID != got.ID {
		t.Errorf("once more: %+v %v", again, err)
	}
	other, err := f.Duplicate(f.ctx, f.seen(of), store.Change{NewArgs: raw(`[]`), Queue: "r", Priority: priority(0), MaxAttempts: 1, RunAt: time.Now().Add(time.Hour), AddTag: "c", RemoveTag: "a"})
	if err != nil || other.Queue != "r" || other.Priority != 0 || other.MaxAttempts != 1 || other.State != store.Scheduled || strings.Join(other.Tags, ",") != "b,c" {
		t.Errorf("%+v %v", other, err)
	}
	f.consistent()
	if r := f.verify(); !r.OK || r.Jobs != 3 {
		t.Errorf("%+v", r)
	}
}

// The same request is done once, whoever repeats it and however late, and is
// answered as done; under its id nothing else passes for done.
func TestARepeatedRequestIsDoneOnce(t *testing.T) {
	f := open(t)
	for what, do := range map[string]doing{
		"requeue": func(p store.OperatorParams) (store.Job, error) { return f.RequeueWith(f.ctx, p, raw(`{"n": 2}`)) },
		"amend":   f.amending(store.Change{Priority: priority(2), AddTag: "x", Queue: "q"}),
		"note":    f.doing(f.Note), "erase": f.doing(f.Erase),
		"duplicate": func(p store.OperatorParams) (store.Job, error) { return f.Duplicate(f.ctx, p, store.Change{}) },
	} {
		id := f.in(store.Discarded)
		p := f.seen(id)
		p.Request = uuid.New()
		entries := func() int { return value[int](f, "select count(*) from fenceline.audit where job_id = $1", id) }
		before := entries()
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, err := do(p); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		wait.Wait()
		if got := f.job(id).Revision; got != p.Seen+1 {
			t.Errorf("%s: revision %d after %d", what, got, p.Seen)
		}
		if n := entries() - before; n != 1 {
			t.Errorf("%s: %d entries in the audit", what, n)
		}
		f.operate(f.Note, id)
		if _, err := do(p); err != nil {
			t.Errorf("%s, later: %v", what, err)
		}
		words := p
		words.Reason = "something else"
		for other, do := range map[string]func() error{
			"another reason": func() error { _, err := do(words); return err },
			"another action": func() error { _, err := f.Terminate(f.ctx, p); return err },
			"other args":     func() error { _, err := f.RequeueWith(f.ctx, p, raw(`{"n": 3}`)); return err },
			"another change": func() error { _, err := f.Amend(f.ctx, p, store.Change{Priority: priority(3)}); return err },
		} {
			var invalid *store.InvalidError
			if err := do(); !errors.As(err, &invalid) || invalid.Field != "request_id" {
				t.Errorf("%s repeated with %s: %v", what, other, err)
			}
		}
		for _, left := range value[[]int64](f, "select coalesce(array_agg(id), '{}') from fenceline.jobs where state = 'available'") {
			f.operate(f.Terminate, left) // out of the next one's way
		}
	}
	f.consistent()
}
