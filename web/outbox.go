package web

import "sync"

// What may wait for one reader. A reader behind by more is told to read the
// page again instead; its queue is dropped, nobody else's is touched.
const (
	maxWaiting      = 512
	maxWaitingBytes = 4 << 20
)

// message is an event on its way to a reader. Its bytes are shared.
type message struct {
	source   string // what it is about; positions are kept by source
	position uint64 // where the source stands once the event was read; 0 unknown
	event    []byte // nil when only the position moved
}

// outbox is a reader's queue. It never blocks who puts something in.
type outbox struct {
	ready chan struct{} // holds a token while something waits

	mu    sync.Mutex
	queue []message
	bytes int
	lost  bool
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

func (o *outbox) put(messages ...message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range messages {
		if len(m.event) == 0 && o.moved(m) {
			continue
		}
		o.queue = append(o.queue, m)
		o.bytes += len(m.event)
	}
	if len(o.queue) > maxWaiting || o.bytes > maxWaitingBytes {
		o.queue, o.bytes, o.lost = nil, 0, true
	}
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// moved folds a position into the last one that waits for the same source. It
// needs the lock.
func (o *outbox) moved(m message) bool {
	if n := len(o.queue); n > 0 && o.queue[n-1].source == m.source {
		o.queue[n-1].position = m.position
		return true
	}
	return false
}

// take returns what waits, and whether something was dropped before it.
func (o *outbox) take() (queue []message, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queue, lost = o.queue, o.lost
	o.queue, o.bytes, o.lost = nil, 0, false
	return queue, lost
}
