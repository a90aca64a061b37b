package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

// patience bounds every wait of these tests for something that must happen.
const patience = time.Minute

// steady is a lease that a machine which stalls for seconds keeps; brief is one
// that a test waits to see the end of.
const (
	steady = 6 * time.Second
	brief  = 2 * time.Second
)

// running is a pool under test.
type running struct {
	*Pool
	stop context.CancelFunc
	done chan error
}

// run starts a pool that lives as long as the test. Without settings it works
// quickly and alone.
func run(t *testing.T, p *Pool) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Pool: p, stop: stop, done: make(chan error, 1)}
	go func() { r.done <- p.Run(ctx) }()
	t.Cleanup(func() {
		if err := r.halt(t); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

// halt stops the pool and returns what Run returned; a second call returns nil.
func (r *running) halt(t *testing.T) error {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		r.done = closed
		return err
	case <-time.After(patience):
		t.Fatal("Run did not return")
		return nil
	}
}

var closed = func() chan error { c := make(chan error); close(c); return c }()

func config(t testing.TB) Config {
	return Config{
		Queues: map[string]int{"default": 4}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Lease: steady, Retry: store.Backoff{Base: 5 * time.Millisecond, Cap: 20 * time.Millisecond},
		Sweep: 20 * time.Millisecond, Poll: 100 * time.Millisecond, Grace: 5 * time.Second, Wind: 5 * time.Second,
	}
}

func enqueue(t testing.TB, st *store.Store, r store.Request) int64 {
	t.Helper()
	got, err := st.Enqueue(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got.ID
}

func enqueueKind(t testing.TB, st *store.Store, kind string) int64 {
	t.Helper()
	return enqueue(t, st, store.Request{Kind: kind})
}

func awaitState(t testing.TB, st *store.Store, id int64, state store.State) store.Job {
	t.Helper()
	var job store.Job
	storetest.Await(t, "the job is "+string(state), func() bool { job = jobNow(t, st, id); return job.State == state })
	return job
}

func jobNow(t testing.TB, st *store.Store, id int64) store.Job {
	t.Helper()
	job, err := st.Job(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func transitions(t testing.TB, st *store.Store, id int64) []store.Transition {
	t.Helper()
	all, err := st.Transitions(context.Background(), id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// only picks the transitions of some types, as "type" or "type reason".
func only(all []store.Transition, types ...store.Type) (out []string) {
	for _, tr := range all {
		if !slices.Contains(types, tr.Type) {
			continue
		}
		word := string(tr.Type)
		if tr.Op != "" {
			word += " " + string(tr.Op)
		}
		if tr.Reason != "" {
			word += " " + tr.Reason
		}
		out = append(out, word)
	}
	return out
}

func refusals(t testing.TB, st *store.Store, id int64) []string {
	t.Helper()
	return only(transitions(t, st, id), store.TypeRejected)
}

func expect(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func result(t testing.TB, st *store.Store, id int64) string {
	t.Helper()
	p, err := st.Reveal(context.Background(), id, "test")
	if err != nil {
		t.Fatal(err)
	}
	return string(p.Result)
}

// failures are the stored errors of a job's attempts, oldest first.
func failures(t testing.TB, st *store.Store, id int64) []store.AttemptFailure {
	t.Helper()
	v, err := st.JobView(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v.Errors
}

// consistent lets the verifier look at everything that a test did.
func consistent(t testing.TB, st *store.Store) {
	t.Helper()
	report, err := st.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Errorf("%s: job %d: %s", v.Invariant, v.JobID, v.Message)
	}
}

// owner is a connection that may do what the runtime role may not.
func owner(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func do(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

type none struct{}

// handler adapts a function that cares for nothing but its context.
func handler(fn func(context.Context, Job[json.RawMessage]) error) func(context.Context, Job[json.RawMessage]) (none, error) {
	return func(ctx context.Context, job Job[json.RawMessage]) (none, error) { return none{}, fn(ctx, job) }
}

var errTest = errors.New("it went wrong")

func contains(s, part string) bool { return strings.Contains(s, part) }

// receive waits for a value, or for the end of a channel.
func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing was received in time")
		panic("unreachable")
	}
}
