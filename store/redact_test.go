package store_test

import (
	"encoding/json"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// Rules cost what is claimed and completed nothing, and what says something one
// statement for the whole batch.
func TestRulesCostOrdinaryJobsNoStatement(t *testing.T) {
	f := open(t)
	sent := func(only bool, settle func(s *store.Store, leases []store.Lease)) int64 {
		var c counter
		s := f.countedWith(&c, store.Config{URL: f.url, RedactOnly: only})
		var leases []store.Lease
		for range 3 {
			f.enqueue(store.Request{Args: json.RawMessage(`{"password":"s3cret-9"}`)})
			leases = append(leases, f.claim("a"))
		}
		c.statements.Store(0)
		settle(s, leases)
		return c.statements.Load()
	}
	complete := func(output string) func(*store.Store, []store.Lease) {
		return func(s *store.Store, leases []store.Lease) {
			var batch []store.Completion
			for _, l := range leases {
				batch = append(batch, store.Completion{Lease: l, Output: output})
			}
			if out, err := s.Complete(f.ctx, "a", batch); err != nil || out[2].Err != nil {
				t.Fatal(out, err)
			}
		}
	}
	fail := func(s *store.Store, leases []store.Lease) {
		var batch []store.Failure
		for _, l := range leases {
			batch = append(batch, store.Failure{Lease: l, Permanent: true, Error: store.AttemptError{Class: "x", Message: "with s3cret-9"}})
		}
		if out, err := s.Fail(f.ctx, "a", batch); err != nil || out[2].Err != nil {
			t.Fatal(out, err)
		}
	}
	for name, c := range map[string]struct {
		settle func(*store.Store, []store.Lease)
		more   int64
	}{"completed": {complete(""), 0}, "completed with output": {complete("made s3cret-9"), 1}, "failed": {fail, 1}} {
		without, with := sent(true, c.settle), sent(false, c.settle)
		if without == 0 || with != without+c.more {
			t.Errorf("%s: %d statements without rules, %d with them", name, without, with)
		}
	}
}
