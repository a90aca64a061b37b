package metrics

import "sync"

// Other is the label of every word beyond a bound.
const Other = "other"

const (
	maxWords = 50  // of one label
	maxBytes = 128 // of one word
)

// Words bounds a label whose values are names of users, such as kinds and
// queues: the first 50 keep their names, as long as these have at most 128
// bytes; the rest share [Other]. A name that was kept is kept for as long as
// the process runs. The zero value is ready, and safe for concurrent use.
type Words struct {
	mu   sync.RWMutex
	kept map[string]struct{}
}

// Of is the label for a word.
func (w *Words) Of(word string) string {
	w.mu.RLock()
	_, known := w.kept[word]
	full := len(w.kept) >= maxWords
	w.mu.RUnlock()
	switch {
	case known:
		return word
	case full || len(word) > maxBytes:
		return Other
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.kept[word]; !known && len(w.kept) >= maxWords {
		return Other
	}
	if w.kept == nil {
		w.kept = map[string]struct{}{}
	}
	w.kept[word] = struct{}{}
	return word
}
