package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/storetest"
)

func benchRequests(n int) []store.Request {
	requests := make([]store.Request, n)
	for i := range requests {
		requests[i] = store.Request{Kind: "noop", Args: json.RawMessage(`{"n": 1}`)}
	}
	return requests
}

func uuids(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	return ids
}

// BenchmarkEnqueueMany stores jobs with their transitions, 10,000 a call.
func BenchmarkEnqueueMany(b *testing.B) {
	s := storetest.New(b)
	requests := benchRequests(10000)
	b.ResetTimer()
	for n := 0; n < b.N; n += len(requests) {
		if _, err := s.EnqueueMany(b.Context(), requests[:min(len(requests), b.N-n)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkDrain claims and completes in batches of 500 on one connection: the
// protocol without a pool around it.
func BenchmarkDrain(b *testing.B) {
	s := storetest.New(b)
	for n := 0; n < b.N; n += 10000 {
		if _, err := s.EnqueueMany(b.Context(), benchRequests(min(10000, b.N-n))); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var claiming, completing time.Duration
	for done := 0; done < b.N; {
		t0 := time.Now()
		claimed, err := s.Claim(b.Context(), store.ClaimParams{Worker: "bench", Queue: "default", AttemptIDs: uuids(500),
			Kinds: []store.KindLease{{Kind: "noop", Lease: time.Minute}}})
		if err != nil || len(claimed) == 0 {
			b.Fatal(err, len(claimed))
		}
		t1 := time.Now()
		batch := make([]store.Completion, len(claimed))
		for i, c := range claimed {
			batch[i] = store.Completion{Lease: c.Lease}
		}
		if _, err := s.Complete(b.Context(), "bench", batch); err != nil {
			b.Fatal(err)
		}
		claiming, completing = claiming+t1.Sub(t0), completing+time.Since(t1)
		done += len(claimed)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(claiming.Microseconds())/float64(b.N), "claim-µs/job")
	b.ReportMetric(float64(completing.Microseconds())/float64(b.N), "complete-µs/job")
}

// BenchmarkJobView reads all that the page of a job shows whose lease was renewed
// 5,000 times.
func BenchmarkJobView(b *testing.B) {
	s := storetest.New(b)
	e, err := s.Enqueue(b.Context(), store.Request{Kind: "noop"})
	if err != nil {
		b.Fatal(err)
	}
	claimed, err := s.Claim(b.Context(), store.ClaimParams{Worker: "bench", Queue: "default", AttemptIDs: uuids(1),
		Kinds: []store.KindLease{{Kind: "noop", Lease: time.Minute}}})
	if err != nil || len(claimed) != 1 {
		b.Fatal(err, len(claimed))
	}
	for range 5000 {
		if _, err := s.Renew(b.Context(), "bench", []store.Renewal{{Lease: claimed[0].Lease, For: time.Minute}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		v, err := s.JobView(b.Context(), e.ID)
		if err != nil || len(v.Transitions) != 5002 {
			b.Fatal(err, len(v.Transitions))
		}
	}
}
