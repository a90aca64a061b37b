package store_test

import (
	"context"
	"testing"

	"github.com/fenceline/fenceline/store"
)

// again offers the same verb of the same attempt behind another job of a batch,
// so that its statement is older than what happens while it waits.
var again = map[store.Op]func(ctx context.Context, f *fixture, first, second store.Lease) ([]store.Outcome, error){
	store.OpComplete: func(ctx context.Context, f *fixture, first, second store.Lease) ([]store.Outcome, error) {
		return f.Complete(ctx, "a", []store.Completion{{Lease: first, Result: []byte(`1`)}, {Lease: second, Result: []byte(`1`)}})
	},
	store.OpFail: func(ctx context.Context, f *fixture, first, second store.Lease) ([]store.Outcome, error) {
		return f.Fail(ctx, "a", []store.Failure{{Lease: first}, {Lease: second}})
	},
	store.OpRelease: func(ctx context.Context, f *fixture, first, second store.Lease) ([]store.Outcome, error) {
		return f.Release(ctx, "a", []store.Released{{Lease: first, Started: true}, {Lease: second, Started: true}})
	},
}

// The first copy is accepted and the job claimed again while the repeat waits:
// all of that is newer than the repeat's snapshot, and none of it is on the row
// any more. The repeat is a success nevertheless.
func TestARepeatThatWaitedWhileANewerAttemptClaimedIsASuccess(t *testing.T) {
	for op, repeat := range again {
		t.Run(string(op), func(t *testing.T) {
			f := open(t)
			ahead := f.enqueue(store.Request{})
			first := f.claim("a")
			id := f.enqueue(store.Request{})
			second := f.claim("a")
			holder := f.hold("select from fenceline.jobs where id = $1 for update", ahead)
			done := make(chan []store.Outcome, 1)
			go func() {
				out, err := repeat(f.ctx, f, first, second)
				if err != nil {
					t.Error(err)
				}
				done <- out
			}()
			f.blocked()
			if out := offered[op](f, second); out.Err != nil || out.Repeated {
				t.Fatalf("the first copy: %+v", out)
			}
			if op == store.OpComplete {
				f.operate(f.Requeue, id)
			}
			b := f.claim("b")
			if op == store.OpComplete {
				// Until then the row itself knows whose result it holds.
				f.complete("b", b, `2`)
			}
			holder.Rollback(f.ctx)
			out := <-done
			if len(out) != 2 || out[0].Err != nil || out[0].Repeated {
				t.Fatalf("the batch's other member: %+v", out)
			}
			if out[1].Err != nil || !out[1].Repeated {
				t.Errorf("the repeat: %+v", out[1])
			}
			ts, _ := f.history(id)
			for _, transition := range ts {
				if transition.Type == store.TypeRejected {
					t.Errorf("the repeat is on record as refused: %s", transition.Reason)
				}
			}
			f.consistent()
		})
	}
}
