package detect

import (
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestOneLostWorkerIsToldAsOne(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := store.Facts{Now: now}
	for n, want := range map[int]string{1: "1 worker went", 2: "2 workers went"} {
		f.Silent = nil
		for range n {
			f.Silent = append(f.Silent, store.SilentWorker{ID: "w", Seen: now})
		}
		if got := lostWorkers(f, Thresholds{LostWorkers: 1}); len(got) != 1 || !strings.HasPrefix(got[0].What, want) {
			t.Errorf("of %d: %v", n, got)
		}
	}
}
