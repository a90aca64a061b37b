package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// AwaitHorizon waits until all that the log holds lies behind the horizon, so that
// one step of a reader that stays behind it comes to it. A writer in any database
// of the server holds the horizon back, an analysis by the server itself as well.
func AwaitHorizon(t testing.TB, url string) {
	t.Helper()
	ctx := context.Background()
	conn := must(t, func() (*pgx.Conn, error) { return pgx.Connect(ctx, url) })
	defer conn.Close(ctx)
	Await(t, "all of the log lies behind the horizon", func() (behind bool) {
		err := conn.QueryRow(ctx, `select not exists (select from fenceline.transitions t where t.xid >= pg_snapshot_xmin(pg_current_snapshot()))`).Scan(&behind)
		if err != nil {
			t.Fatal(err)
		}
		return behind
	})
}
