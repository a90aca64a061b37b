package worker_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/worker"
)

// BenchmarkNoop drains jobs with the real pool; one operation is one job, from
// claim to stored result.
func BenchmarkNoop(b *testing.B) {
	st := storetest.New(b)
	requests := make([]store.Request, 0, store.MaxBulk)
	for n := b.N; n > 0; n -= len(requests) {
		requests = requests[:0]
		for range min(n, store.MaxBulk) {
			requests = append(requests, store.Request{Kind: "noop", Args: json.RawMessage("{}")})
		}
		if _, err := st.EnqueueMany(b.Context(), requests); err != nil {
			b.Fatal(err)
		}
	}
	pool := worker.New(st, worker.Config{Queues: map[string]int{"default": 500}})
	worker.HandleNoop(pool)
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	b.ResetTimer()
	go func() { done <- pool.Run(ctx) }()
	for pool.Stats().Completed < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(pool.Stats().Claims), "claims")
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
