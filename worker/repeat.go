package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// persist repeats a batch until it is settled: a repeat by the attempt that did
// it is answered as success, so offering twice is harmless and not offering
// loses work. It gives up when ctx ends and for members whose lease ended long
// ago. A batch that the database answered with an error is halved, so that in
// the end only the member that causes it is held up.
func (l *lane[M]) persist(ctx context.Context, batch []entry[M], err error) {
	for try := 0; ; try++ {
		l.pool.complain(l.verb, err)
		answered := isAnswer(err)
		if answered {
			l.lend(batch)
		}
		if !pause(ctx, backoff(try)) {
			l.abandon(batch)
			return
		}
		if answered {
			l.reserve(batch)
		}
		if batch = l.current(batch); len(batch) == 0 {
			return
		}
		if concernsMember(err) {
			if len(batch) > 1 {
				l.halve(ctx, batch)
				return
			}
			if l.refuse != nil && l.refuse(batch[0].held, err) {
				return
			}
		}
		if err = l.offer(ctx, batch); err == nil {
			return
		}
	}
}

func (l *lane[M]) halve(ctx context.Context, batch []entry[M]) {
	middle := len(batch) / 2
	for _, half := range [][]entry[M]{batch[:middle], batch[middle:]} {
		if err := l.offer(ctx, half); err != nil {
			l.persist(ctx, half, err)
		}
	}
}

// lend lets the keeper renew while the batch waits. It is done only when the
// database has said that nothing was changed: after a lost answer the write may
// have been accepted, and a renewal behind it would be refused and recorded as
// stale.
func (l *lane[M]) lend(batch []entry[M]) {
	for _, e := range batch {
		e.held.writer.Store(idle)
	}
	l.pool.keeper.poke()
}

// reserve takes the attempts back, one by one as their renewals end.
func (l *lane[M]) reserve(batch []entry[M]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range batch {
		for !e.held.begin() {
			l.changed.Wait()
		}
	}
}

// current gives up the members whose lease ended long ago.
func (l *lane[M]) current(batch []entry[M]) []entry[M] {
	now := l.pool.now()
	kept := batch[:0:0]
	for _, e := range batch {
		if e.held.hopeless(now) {
			l.abandon([]entry[M]{e})
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func (l *lane[M]) abandon(batch []entry[M]) {
	for _, e := range batch {
		e.held.log().Error(l.verb + " given up: the database did not take it in time; the lease expires by itself")
		l.pool.completer.abandoned(e.held)
	}
}

// isAnswer reports whether the server itself refused the statement, and so
// changed nothing. Anything else leaves open whether it was done.
func isAnswer(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.SeverityUnlocalized == "ERROR" || refused.Severity == "ERROR")
}

// concernsMember reports whether a smaller batch could fare better: not when
// the server is short of something, shutting down, read-only, or asks for a
// plain repeat.
func concernsMember(err error) bool {
	var refused *pgconn.PgError
	if !isAnswer(err) || !errors.As(err, &refused) || len(refused.Code) != 5 {
		return false
	}
	switch refused.Code[:2] {
	case "08", "25", "28", "40", "53", "57", "58", "XX":
		return refused.Code == "57014" // the statement took too long
	}
	return true
}

const maxPause = time.Second

// backoff is the pause after the nth failure of a call, with jitter, at most a
// second: the leases do not wait.
func backoff(try int) time.Duration {
	bound := min(maxPause, 25*time.Millisecond<<min(try, 8))
	return bound/2 + rand.N(bound/2+1)
}

// pause waits, and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
