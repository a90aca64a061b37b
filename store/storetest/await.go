package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Await polls until a fact holds, which may take a minute. The test fails with
// what then never came true.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came true that %s", what)
		}
	}
}

// AwaitState waits until a job is in a state, and returns all that is told of it.
func AwaitState(t testing.TB, s *store.Store, id int64, state store.State) store.JobView {
	t.Helper()
	var v store.JobView
	Await(t, "the job is "+string(state), func() bool {
		var err error
		if v, err = s.JobView(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		return v.Job.State == state
	})
	return v
}
