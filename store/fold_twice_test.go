package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// Effects can be there twice when an attempt went silent and another worked
// after it; not when nobody worked after it, or nobody had begun before.
func TestWhatMayHaveHappenedTwiceIsToldFromTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		ends         []store.Type // of each attempt in turn; empty while it runs
		unstarted    int          // the attempt that was given back before it began
		first, again int64
	}{
		"no attempt":                   {nil, 0, 0, 0},
		"one that runs":                {[]store.Type{""}, 0, 0, 0},
		"one that expired":             {[]store.Type{store.TypeExpired}, 0, 0, 0},
		"expired, then runs":           {[]store.Type{store.TypeExpired, ""}, 0, 1, 2},
		"expired, then completed":      {[]store.Type{store.TypeExpired, store.TypeCompleted}, 0, 1, 2},
		"failed, then completed":       {[]store.Type{store.TypeFailed, store.TypeCompleted}, 0, 0, 0},
		"expired, failed, completed":   {[]store.Type{store.TypeExpired, store.TypeFailed, store.TypeCompleted}, 0, 1, 3},
		"interrupted, then completed":  {[]store.Type{store.TypeReleased, store.TypeCompleted}, 0, 1, 2},
		"not begun, then completed":    {[]store.Type{store.TypeReleased, store.TypeCompleted}, 1, 0, 0},
		"expired, then not begun":      {[]store.Type{store.TypeExpired, store.TypeReleased}, 2, 0, 0},
		"taken away, then completed":   {[]store.Type{store.TypeRequeued, store.TypeCompleted}, 0, 1, 2},
		"two lost ones, the newer two": {[]store.Type{store.TypeExpired, store.TypeExpired, ""}, 0, 2, 3},
	} {
		var log []store.Transition
		for i, end := range c.ends {
			at := store.Transition{JobID: 1, AttemptID: uuid.New(), Generation: int64(i + 1), From: store.Available, To: store.Running,
				Type: store.TypeClaimed, At: time.Unix(1, 0)}
			log = append(log, at)
			if end == "" {
				continue
			}
			at.Type, at.From, at.To = end, store.Running, store.Available
			at.Detail.Unstarted = i+1 == c.unstarted
			log = append(log, at)
		}
		for i := range log {
			log[i].ID = int64(i + 1)
		}
		h := store.Fold(log)
		if first, again := h.MaybeTwice(); first != c.first || again != c.again {
			t.Errorf("%s: attempts %d and %d, want %d and %d", name, first, again, c.first, c.again)
		}
	}
}
