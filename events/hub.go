package events

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Hub fans the database's notifications out to the subscriptions of one
// process. It holds one listening connection while [Hub.Run] runs, whatever
// the number of subscriptions. All methods are safe for concurrent use.
type Hub struct {
	src    Source
	cfg    Config
	poke   chan struct{} // there is something to read
	work   chan struct{}
	beat   chan struct{} // a pulse may be due
	turns  chan struct{} // held by a new subscription while it reads
	pumps  sync.WaitGroup
	closed chan struct{}

	mu       sync.Mutex
	running  bool
	subs     map[*Subscription]struct{}
	jobs     map[int64]map[*Subscription]*cursor // of subscriptions that have caught up
	pulses   map[*Pulse]struct{}
	watchers map[*StatusWatch]struct{}
	heard    uint64 // notifications and gaps so far; tells a new subscription whether it was overtaken
	pass     uint64 // number of the latest pass
	next     pending
	line     line
	health   health
}

// NewHub makes a hub that reads from src. It does nothing until [Hub.Run];
// subscriptions made before that are served once it runs.
func NewHub(src Source, cfg Config) *Hub {
	return &Hub{
		src: src, cfg: cfg.withDefaults(),
		poke: make(chan struct{}, 1), work: make(chan struct{}, 1), beat: make(chan struct{}, 1),
		turns: make(chan struct{}, replays), closed: make(chan struct{}),
		subs: map[*Subscription]struct{}{}, jobs: map[int64]map[*Subscription]*cursor{},
		pulses: map[*Pulse]struct{}{}, watchers: map[*StatusWatch]struct{}{},
		line: newLine(), health: newHealth(),
	}
}

// Run listens, reads and delivers until ctx ends, and returns nil then; by
// that time every subscription has ended with [ErrClosed] and every goroutine
// of the hub has returned. It survives every failure of the database; the only
// error is that of a hub that runs already.
func (h *Hub) Run(ctx context.Context) error {
	if err := h.begin(); err != nil {
		return err
	}
	defer h.pumps.Wait()
	defer h.Close()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { h.listen(ctx); return nil })
	g.Go(func() error { h.prove(ctx); return nil })
	g.Go(func() error { h.read(ctx); return nil })
	g.Go(func() error { h.tick(ctx); return nil })
	return g.Wait()
}

func (h *Hub) begin() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running {
		return errRunning
	}
	h.running = true
	return nil
}

// Close ends every subscription with [ErrClosed] and refuses new ones. Call it
// when a graceful shutdown begins, so that open streams do not hold it up; Run
// goes on, for the sake of [Hub.Work], until its context ends. Repeats do
// nothing.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
		return
	default:
	}
	close(h.closed)
	for sub := range h.subs {
		h.drop(sub, ErrClosed)
	}
	h.health.closed = true
	h.announce()
}

// Work ticks when some job became available, coalesced, and whenever such a
// tick may have been missed. It is for one receiver, which polls all the same:
// a hint saves latency, it is not a promise.
func (h *Hub) Work() <-chan struct{} { return h.work }

// nudge leaves a token in a channel of capacity one.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// nonce returns 16 random hexadecimal digits.
func nonce() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}
