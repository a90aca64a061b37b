package watch_test

import (
	"context"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
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
