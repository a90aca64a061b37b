package faults

import (
	"maps"
	"slices"
	"sync"
)

// ledger is what the processes of a rig said that they were told. It lives in
// the process that nothing is done to.
type ledger struct {
	mu       sync.Mutex
	enqueued map[string]int64 // key to job
	acted    []word
	stale    []word
	effects  map[int64]int
	unsure   int      // acknowledgements that came after a missing answer
	wrongs   []string // what must not be
	up       map[string]int
}

func newLedger() *ledger {
	return &ledger{enqueued: map[string]int64{}, effects: map[int64]int{}, up: map[string]int{}}
}

func (l *ledger) note(play string, w word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.Unsure {
		l.unsure++
	}
	switch w.Word {
	case wordUp:
		l.up[play]++
	case wordEffect:
		l.effects[w.Job]++
	case wordEnqueued:
		if before, known := l.enqueued[w.Key]; known && before != w.Job {
			l.add("the key " + w.Key + " was acknowledged for two jobs")
		}
		l.enqueued[w.Key] = w.Job
	case wordActed:
		l.acted = append(l.acted, w)
	case wordStale:
		l.stale = append(l.stale, w)
	case wordWrong:
		l.add(w.Text + " (" + w.Key + ")")
	}
}

const maxWrongs = 100

// add needs the lock.
func (l *ledger) add(text string) {
	if len(l.wrongs) < maxWrongs {
		l.wrongs = append(l.wrongs, text)
	}
}

func (l *ledger) wrong(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(text)
}

// staleSoFar is how many writes without authority were answered.
func (l *ledger) staleSoFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stale)
}

func (l *ledger) snapshot() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &ledger{enqueued: maps.Clone(l.enqueued), effects: maps.Clone(l.effects), unsure: l.unsure,
		acted: slices.Clone(l.acted), stale: slices.Clone(l.stale), wrongs: slices.Clone(l.wrongs)}
}
