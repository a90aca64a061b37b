package watch_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/store/watch"
)

// until waits for a fact.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain until " + what)
		}
	}
}

func TestWhatIsWatchedIsCounted(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- watch.Run(ctx, watch.Config{Store: s, Every: 10 * time.Millisecond}) }()
	}
	for range 5 {
		if _, err := s.Enqueue(ctx, store.Request{Kind: "report"}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all is counted", func() bool {
		m, err := s.Minutes(ctx, time.Hour)
		return err == nil && m.Provisional == 0 && len(m.Rows) > 0
	})
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	var n int64
	m, err := s.Minutes(t.Context(), time.Hour)
	for _, r := range m.Rows {
		n += r.N
	}
	if err != nil || n != 5 {
		t.Errorf("%d of 5 are counted, %v", n, err)
	}
}

// What is wrong becomes an incident while it happens, whoever watches.
func TestWhatIsWrongBecomesOneIncident(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	rules := detect.Defaults()
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			ended <- watch.Run(ctx, watch.Config{Store: s, Every: 10 * time.Millisecond, Rules: &rules})
		}()
	}
	var ids []uuid.UUID
	for range 6 {
		ids = append(ids, uuid.Must(uuid.NewV7()))
		if _, err := s.Enqueue(ctx, store.Request{Kind: "report"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Claim(ctx, store.ClaimParams{Worker: "a", Queue: store.DefaultQueue, Kinds: []store.KindLease{{Kind: "report", Lease: 100 * time.Millisecond}}, AttemptIDs: ids}); err != nil {
		t.Fatal(err)
	}
	until(t, "the leases are expired and an incident is open", func() bool {
		if _, err := s.Expire(ctx, 10, store.DefaultBackoff); err != nil {
			t.Fatal(err)
		}
		all, err := s.Incidents(ctx)
		return err == nil && len(all.Active) == 1 && all.Active[0].Rule == "expiry-spike" && all.Active[0].N == 6
	})
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
