package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func TestAResultIsStoredWithTheIdentityOfItsAttempt(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueue(t, st, store.Request{Kind: "sum", Key: "k-1", Args: json.RawMessage(`{"a": 2, "b": 40}`), Tags: []string{"red"}})
	type args struct{ A, B int }
	var got Job[args]
	p := New(st, config(t))
	Handle(p, "sum", func(_ context.Context, job Job[args]) (map[string]int, error) {
		got = job
		return map[string]int{"sum": job.Args.A + job.Args.B}, nil
	})
	run(t, p)
	job := awaitState(t, st, id, store.Completed)
	if r := result(t, st, id); r != `{"sum": 42}` {
		t.Errorf("result = %s", r)
	}
	if got.ID != id || got.Key != "k-1" || got.Tags[0] != "red" || got.Attempt.ID != job.AttemptID ||
		got.Attempt.Generation != 1 || got.Attempt.Number != 1 || got.Attempt.Max != store.DefaultAttempts {
		t.Errorf("the handler saw %+v of %+v", got, job)
	}
	expect(t, "transitions", only(transitions(t, st, id), store.TypeEnqueued, store.TypeClaimed, store.TypeCompleted, store.TypeRejected),
		"enqueued", "claimed", "completed")
	consistent(t, st)
}

func TestAnErrorIsRetriedUntilItSucceedsUnderOneIdempotencyKey(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id, other := enqueueKind(t, st, "flaky"), enqueueKind(t, st, "flaky")
	keys := make(chan string, 20)
	p := New(st, config(t))
	Handle(p, "flaky", func(_ context.Context, job Job[json.RawMessage]) (int, error) {
		if job.ID == id {
			keys <- job.IdempotencyKey()
		} else if job.IdempotencyKey() == "" {
			t.Error("no key")
		}
		if job.Attempt.Number < 3 {
			return 0, fmt.Errorf("try %d: %w", job.Attempt.Number, errTest)
		}
		return job.Attempt.Number, nil
	})
	run(t, p)
	awaitState(t, st, id, store.Completed)
	awaitState(t, st, other, store.Completed)
	expect(t, "transitions", only(transitions(t, st, id), store.TypeFailed, store.TypeCompleted), "failed", "failed", "completed")
	if a, b, c := <-keys, <-keys, <-keys; a != b || b != c {
		t.Errorf("the key changed between attempts: %s, %s, %s", a, b, c)
	}
	if errs := failures(t, st, id); len(errs) != 2 || errs[0].Message != "try 1: it went wrong" || errs[0].Class != "error" {
		t.Errorf("stored errors: %+v", errs)
	}
	consistent(t, st)
}

func TestAPermanentErrorDiscardsTheJobAtOnce(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "wrong")
	p := New(st, config(t))
	Handle(p, "wrong", handler(func(context.Context, Job[json.RawMessage]) error {
		return fmt.Errorf("no such customer: %w", Permanent(errTest))
	}))
	run(t, p)
	if job := awaitState(t, st, id, store.Discarded); job.Attempts != 1 {
		t.Errorf("attempts = %d", job.Attempts)
	}
	expect(t, "transitions", only(transitions(t, st, id), store.TypeFailed), "failed permanent")
}

func TestArgsThatDoNotFitTheHandlerAreAPermanentFailure(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueue(t, st, store.Request{Kind: "typed", Args: json.RawMessage(`{"n": "seven"}`)})
	p := New(st, config(t))
	Handle(p, "typed", func(_ context.Context, job Job[struct{ N int }]) (int, error) { return job.Args.N, nil })
	run(t, p)
	awaitState(t, st, id, store.Discarded)
	if errs := failures(t, st, id); len(errs) != 1 || errs[0].Class != "args" || !strings.Contains(errs[0].Message, ".N of type int") {
		t.Errorf("stored errors: %+v", errs)
	}
}

func TestAResultThatCannotBeStoredFailsItsOwnJobAlone(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	bad := map[string]any{
		"nul":   json.RawMessage(`{"a": "\u0000"}`),
		"half":  json.RawMessage(`["\ud83d"]`),
		"large": strings.Repeat("x", store.MaxResult),
		"noise": json.RawMessage(`{"a": `),
		"chan":  make(chan int),
	}
	p := New(st, config(t))
	Handle(p, "make", func(_ context.Context, job Job[string]) (any, error) { return bad[job.Args], nil })
	ids := map[string]int64{}
	for _, name := range []string{"nul", "good", "half", "large", "noise", "chan"} {
		ids[name] = enqueue(t, st, store.Request{Kind: "make", Args: json.RawMessage(`"` + name + `"`)})
	}
	run(t, p)
	awaitState(t, st, ids["good"], store.Completed)
	for name := range bad {
		job := awaitState(t, st, ids[name], store.Discarded)
		expect(t, name, only(transitions(t, st, job.ID), store.TypeFailed, store.TypeRejected), "failed result_unstorable")
		if errs := failures(t, st, job.ID); len(errs) != 1 || errs[0].Class != "result_unstorable" || errs[0].Message == "" {
			t.Errorf("%s: stored errors: %+v", name, errs)
		}
	}
	consistent(t, st)
}

// Reliability test 41 and case B50.
func TestAHandlerThatDoesNotReturnIsAFailedAttemptWithATrace(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	ways := map[string]struct {
		end            func()
		class, message string
	}{
		"panic":    {func() { panic("boom") }, "panic", "boom"},
		"nothing":  {func() { panic(nil) }, "panic", "nil"},
		"goexit":   {runtime.Goexit, "goexit", "runtime.Goexit"},
		"pointer":  {func() { var n *int; *n = 1 }, "panic", "nil pointer"},
		"horrible": {func() { panic(horrible{}) }, "panic", "PANIC"},
	}
	cfg := config(t)
	cfg.Queues = map[string]int{"default": 1} // the slot has to be usable again each time
	p := New(st, cfg)
	Handle(p, "crash", func(_ context.Context, job Job[string]) (none, error) {
		ways[job.Args].end()
		return none{}, nil
	})
	HandleNoop(p)
	ids := map[string]int64{}
	for name := range ways {
		ids[name] = enqueue(t, st, store.Request{Kind: "crash", Args: json.RawMessage(`"` + name + `"`), MaxAttempts: 2})
	}
	last := enqueue(t, st, store.Request{Kind: "noop", Priority: 9})
	run(t, p)
	for name, way := range ways {
		awaitState(t, st, ids[name], store.Discarded)
		errs := failures(t, st, ids[name])
		if len(errs) != 2 || errs[0].Class != way.class || !strings.Contains(errs[0].Message, way.message) ||
			!strings.Contains(errs[0].Trace, "outcomes_test.go") {
			t.Errorf("%s: stored errors: %+v", name, errs)
		}
	}
	awaitState(t, st, last, store.Completed)
	consistent(t, st)
}

type horrible struct{}

func (horrible) Error() string { panic("no text") }

func TestAnErrorThatPanicsWhenReadIsStillRecorded(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueue(t, st, store.Request{Kind: "horrible", MaxAttempts: 1})
	p := New(st, config(t))
	Handle(p, "horrible", handler(func(context.Context, Job[json.RawMessage]) error { return horrible{} }))
	run(t, p)
	awaitState(t, st, id, store.Discarded)
	if errs := failures(t, st, id); len(errs) != 1 || !strings.Contains(errs[0].Message, "worker.horrible") {
		t.Errorf("stored errors: %+v", errs)
	}
}

func TestAFollowUpExistsIfAndOnlyIfTheResultWasAccepted(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	id := enqueueKind(t, st, "parent")
	p := New(st, config(t))
	Handle(p, "parent", handler(func(_ context.Context, job Job[json.RawMessage]) error {
		err := job.FollowUp("mail", "child", map[string]int{"try": job.Attempt.Number}, func(r *store.Request) { r.Queue = "mail" })
		if err != nil {
			t.Error(err)
		}
		if job.Attempt.Number == 1 {
			return errTest
		}
		return nil
	}))
	run(t, p)
	awaitState(t, st, id, store.Completed)
	view, err := st.JobView(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Children) != 1 || view.Children[0].Kind != "child" || view.Children[0].Queue != "mail" {
		t.Fatalf("children: %+v", view.Children)
	}
	args, err := st.Payload(t.Context(), view.Children[0].ID)
	if err != nil || string(args.Args) != `{"try": 2}` {
		t.Errorf("the follow-up's args are %s (%v), not those of the accepted attempt", args.Args, err)
	}
	consistent(t, st)
}

func TestAFollowUpThatCouldNotBeStoredIsRefusedToItsHandler(t *testing.T) {
	t.Parallel()
	job := Job[none]{Attempt: &Attempt{held: &attempt{pool: &Pool{cfg: Config{}.withDefaults()}, ctx: t.Context()}}}
	for name, ask := range map[string]func() error{
		"name":   func() error { return job.FollowUp("", "child", nil) },
		"kind":   func() error { return job.FollowUp("a", "", nil) },
		"args":   func() error { return job.FollowUp("a", "child", "\x00") },
		"key":    func() error { return job.FollowUp("a", "child", nil, func(r *store.Request) { r.Key = "k" }) },
		"name 2": func() error { job.FollowUp("twice", "child", 1); return job.FollowUp("twice", "child", 2) },
	} {
		var invalid *store.InvalidError
		if err := ask(); !errors.As(err, &invalid) || !strings.HasPrefix(name, strings.SplitN(invalid.Field, ".", 2)[0]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOutputIsKeptOnSuccessAndOnFailure(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	good := enqueue(t, st, store.Request{Kind: "talk", Args: json.RawMessage(`true`)})
	bad := enqueue(t, st, store.Request{Kind: "talk", Args: json.RawMessage(`false`), MaxAttempts: 1})
	p := New(st, config(t))
	Handle(p, "talk", func(_ context.Context, job Job[bool]) (none, error) {
		job.Attempt.KeepOutput("said \x00 something")
		if !job.Args {
			return none{}, errTest
		}
		return none{}, nil
	})
	run(t, p)
	awaitState(t, st, good, store.Completed)
	awaitState(t, st, bad, store.Discarded)
	for _, id := range []int64{good, bad} {
		if errs := failures(t, st, id); len(errs) != 1 || errs[0].Output != "said \uFFFD something" {
			t.Errorf("kept: %+v", errs)
		}
	}
}

func TestErrorsAreGroupedByWhatTheyAre(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"error":            fmt.Errorf("a: %w", fmt.Errorf("b: %w", errTest)),
		"json.SyntaxError": fmt.Errorf("a: %w", json.Unmarshal([]byte("{"), new(int))),
		"timeout":          fmt.Errorf("a: %w", &classError{"timeout", errTest}),
		"worker.horrible":  RetryAfter(Permanent(horrible{}), 1),
	} {
		if got := class(err); got != want {
			t.Errorf("class of %T = %q, want %q", err, got, want)
		}
	}
}

func TestAnAttemptComesNoSoonerThanItsErrorAsksFor(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	p := New(st, config(t))
	Handle(p, "busy", handler(func(_ context.Context, job Job[json.RawMessage]) error {
		var delay time.Duration
		if err := json.Unmarshal(job.Args, &delay); err != nil {
			return err
		}
		return fmt.Errorf("the ledger: %w", RetryAfter(errTest, delay))
	}))
	wanted := []time.Duration{time.Hour, 1<<63 - 1}
	var ids []int64
	for _, delay := range wanted {
		ids = append(ids, enqueue(t, st, store.Request{Kind: "busy", Args: json.RawMessage(fmt.Sprint(int64(delay)))}))
	}
	run(t, p)
	for i, id := range ids {
		job := awaitState(t, st, id, store.Retryable)
		log := transitions(t, st, id)
		if wait := job.RunAt.Sub(log[len(log)-1].At); wait < wanted[i] {
			t.Errorf("the next attempt comes after %s, asked for %s", wait, wanted[i])
		}
		if errs := failures(t, st, id); len(errs) != 1 || errs[0].Class != "error" || errs[0].Message != "the ledger: it went wrong" {
			t.Errorf("stored errors: %+v", errs)
		}
	}
	if RetryAfter(nil, time.Hour) != nil {
		t.Error("nothing has become an error")
	}
}

// Case B12: jobs that fail together do not come back together, and no delay can
// stop a failure from being recorded.
func TestJobsThatFailTogetherGetDifferentDueTimes(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cfg := config(t)
	cfg.Queues = map[string]int{"default": 10}
	p := New(st, cfg)
	Handle(p, "fail", handler(func(context.Context, Job[json.RawMessage]) error { return errTest }),
		Options{Retry: store.Backoff{Base: 1 << 62, Cap: 1<<63 - 1}})
	ids := make([]int64, 10)
	for i := range ids {
		ids[i] = enqueueKind(t, st, "fail")
	}
	run(t, p)
	due := map[int64]bool{}
	for _, id := range ids {
		due[awaitState(t, st, id, store.Retryable).RunAt.Unix()] = true
	}
	if len(due) < 9 {
		t.Errorf("ten jobs have %d due times", len(due))
	}
}
