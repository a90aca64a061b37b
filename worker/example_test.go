package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/worker"
)

type Order struct{ Price, Pieces int }
type Receipt struct{ Total int }

// A program that works jobs of its own kind: open the store, say what to do,
// run until the context ends.
func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background())
	st, err := store.Open(ctx, store.Config{URL: databaseURL})
	if err != nil {
		panic(err)
	}
	defer st.Close()
	st.Enqueue(ctx, store.Request{Kind: "order", Args: json.RawMessage(`{"price": 7, "pieces": 6}`)})

	pool := worker.New(st, worker.Config{Log: slog.New(slog.DiscardHandler)})
	worker.Handle(pool, "order", func(ctx context.Context, job worker.Job[Order]) (Receipt, error) {
		defer stop() // a real program stops at a signal
		fmt.Printf("attempt %d of %d\n", job.Attempt.Number, job.Attempt.Max)
		return Receipt{Total: job.Args.Price * job.Args.Pieces}, nil
	})
	fmt.Println("stopped:", pool.Run(ctx))

	page, _ := st.Jobs(context.Background(), store.Filter{Kind: "order", Limit: 1})
	fmt.Println(page.Jobs[0].State)
	// Output:
	// attempt 1 of 10
	// stopped: <nil>
	// completed
}

// Ask before each effect that no other system fences, and give the other side a
// key by which it recognises a repeat.
func ExampleAttempt_Check() {
	pool := worker.New(nil, worker.Config{})
	worker.Handle(pool, "mail", func(ctx context.Context, job worker.Job[struct{ To []string }]) (int, error) {
		for i, to := range job.Args.To {
			if err := job.Attempt.Check(ctx); err != nil {
				return i, err
			}
			send(to, job.IdempotencyKey()+"/"+to)
		}
		return len(job.Args.To), nil
	})
}

func send(to, key string) {}

// A follow-up is enqueued if and only if the result is accepted.
func ExampleJob_FollowUp() {
	pool := worker.New(nil, worker.Config{})
	worker.Handle(pool, "order", func(ctx context.Context, job worker.Job[Order]) (Receipt, error) {
		total := job.Args.Price * job.Args.Pieces
		err := job.FollowUp("receipt", "mail", map[string]any{"total": total}, func(r *store.Request) { r.Queue = "mail" })
		return Receipt{total}, err
	})
}
