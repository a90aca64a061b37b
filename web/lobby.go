package web

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
)

// lobby holds the rooms that are open: one for each topic that somebody
// follows, and for each set of powers, because pages say what a reader may not do. A room reads and renders once for everybody in it, and is closed
// when the last one leaves.
type lobby struct {
	server *Server

	mu    sync.Mutex
	rooms map[string]*room // by key
}

func newLobby(s *Server) *lobby { return &lobby{server: s, rooms: map[string]*room{}} }

// source is what a room shows. Its methods are called by the room's goroutine
// only.
type source interface {
	// follow reads the topic and shows it to the room until ctx ends, or until
	// it cannot go on; it is called again then.
	follow(ctx context.Context, r *room) error
}

// room is one topic with those who follow it.
type room struct {
	topic  string
	key    string        // the topic and for whom it is rendered
	wake   chan struct{} // somebody came in and has to be shown everything
	loaded chan struct{} // closed when the first reading succeeded or failed
	err    error         // why the first reading failed; read after loaded
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{}
	guests int // under the lobby's lock

	mu      sync.Mutex
	members map[*outbox]*member
	parts   map[string][]byte // what was shown last, by part
}

// member is a reader in a room.
type member struct {
	since uint64 // the position of the page that it has
	new   bool   // has not been shown everything yet
}

// join brings a reader into a topic's room, and opens that where it is not.
// Everything the reader may have missed since the position is put in its
// outbox soon. leave must be called unless the error is not nil.
func (l *lobby) join(ctx context.Context, topic string, src source, box *outbox, since uint64) (leave func(), err error) {
	r := l.enter(powersOf(ctx), topic, src)
	select {
	case <-r.loaded:
	case <-ctx.Done():
		l.exit(r)
		return nil, ctx.Err()
	}
	if r.err != nil {
		l.exit(r)
		return nil, r.err
	}
	r.mu.Lock()
	r.members[box] = &member{since: since, new: true}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return func() {
		r.mu.Lock()
		delete(r.members, box)
		r.mu.Unlock()
		l.exit(r)
	}, nil
}

func (l *lobby) enter(powers store.Powers, topic string, src source) *room {
	key := topic + "\x00" + class(powers)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, open := l.rooms[key]; open {
		r.guests++
		return r
	}
	ctx, cancel := context.WithCancel(withPowers(context.Background(), powers))
	r := &room{
		topic: topic, key: key, wake: make(chan struct{}, 1), loaded: make(chan struct{}), cancel: cancel,
		done: make(chan struct{}), guests: 1, members: map[*outbox]*member{}, parts: map[string][]byte{},
	}
	l.rooms[key] = r
	go func() {
		defer close(r.done)
		l.run(ctx, r, src)
	}()
	return r
}

// exit returns when the room is closed, if this was its last guest.
func (l *lobby) exit(r *room) {
	l.mu.Lock()
	r.guests--
	last := r.guests == 0
	if last && l.rooms[r.key] == r {
		delete(l.rooms, r.key)
	}
	l.mu.Unlock()
	if last {
		r.cancel()
		<-r.done
	}
}

// run keeps a room's source going. A first reading that fails is the answer to
// who wanted in; a later one is repeated until it succeeds.
func (l *lobby) run(ctx context.Context, r *room, src source) {
	for wait := time.Second / 4; ; wait = min(2*wait, 5*time.Second) {
		began := time.Now()
		err := caughtFollow(ctx, r, src)
		first := false
		r.once.Do(func() { first = true; r.err = err; close(r.loaded) })
		if first || ctx.Err() != nil || errors.Is(err, events.ErrClosed) {
			l.forget(r)
			return
		}
		l.server.cfg.Log.Warn("a topic is read anew", "topic", r.topic, "reason", err)
		if time.Since(began) > time.Minute {
			wait = time.Second / 4
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// caughtFollow turns a panic into an error: a component that fails must not
// take the process with it.
func caughtFollow(ctx context.Context, r *room, src source) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return src.follow(ctx, r)
}

// forget lets the next reader open the room anew.
func (l *lobby) forget(r *room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rooms[r.key] == r {
		delete(l.rooms, r.key)
	}
}

// ready says that the room has been read and readers may come in.
func (r *room) ready() { r.once.Do(func() { close(r.loaded) }) }

// part is one element of a page, found again by its name.
type part struct {
	name string
	html []byte
}

// show tells everybody what changed since the last time, and everything to
// those who are new. A new one whose page is not older than newest, the
// transaction of the latest change, has everything already; 0 means that
// nobody knows. position is where the topic stands now.
func (r *room) show(parts []part, newest, position uint64) {
	r.deliver(r.message(r.changed(parts), position), parts, newest, position)
}

// welcome is show when nothing has happened but time: only those who are new
// are shown anything.
func (r *room) welcome(parts []part, newest, position uint64) {
	r.deliver(r.message(nil, position), parts, newest, position)
}

// deliver gives the update to those who know the rest, and the parts to those
// who are new.
func (r *room) deliver(update message, parts []part, newest, position uint64) {
	var whole *message
	r.mu.Lock()
	defer r.mu.Unlock()
	for box, m := range r.members {
		switch {
		case !m.new:
			box.put(update)
		case newest != 0 && newest < m.since:
			box.put(message{source: r.topic, position: position})
		default:
			if whole == nil {
				all := r.message(parts, position)
				whole = &all
			}
			box.put(*whole)
		}
		m.new = false
	}
}

// changed returns the parts that differ from what was shown last.
func (r *room) changed(parts []part) []part {
	var out []part
	next := make(map[string][]byte, len(parts))
	for _, p := range parts {
		if string(r.parts[p.name]) != string(p.html) {
			out = append(out, p)
		}
		next[p.name] = p.html
	}
	r.parts = next
	return out
}

func (r *room) message(parts []part, position uint64) message {
	m := message{source: r.topic, position: position}
	if len(parts) == 0 {
		return m
	}
	var html []byte
	for _, p := range parts {
		html = append(html, p.html...)
	}
	m.event = encode(eventPatch, html)
	return m
}

// move tells everybody that the topic stands further on, with nothing new.
func (r *room) move(position uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for box, m := range r.members {
		if !m.new {
			box.put(message{source: r.topic, position: position})
		}
	}
}
