package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// read makes passes until ctx ends: when something was heard, and at a steady
// pace in case something was not.
func (h *Hub) read(ctx context.Context) {
	steady := time.NewTicker(h.cfg.Poll)
	defer steady.Stop()
	failures := 0
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-steady.C:
			if !h.overdue(last) {
				continue
			}
			h.gap()
			last = time.Now()
		case <-h.poke:
		}
		if !pause(ctx, h.cfg.Debounce) {
			return
		}
		err := h.passOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures = 0
			h.readsWell()
			continue
		}
		failures++
		h.readFailed(err)
		if !pause(ctx, retryAfter(failures)) {
			return
		}
	}
}

// overdue reports whether every watched job should be read though nothing was
// heard since last.
func (h *Hub) overdue(last time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.health.line != "" || time.Since(last) >= h.cfg.Reread
}

// retryAfter grows from 50 ms to about a second, with jitter.
func retryAfter(failures int) time.Duration {
	most := 100 * time.Millisecond << min(failures-1, 3)
	return most/2 + rand.N(most/2)
}

// readFailed leaves a gap, so that the next pass reads from the cursors what
// this one may have missed.
func (h *Hub) readFailed(err error) {
	h.gap()
	h.mu.Lock()
	first := h.setRead(ReadsFailing)
	h.mu.Unlock()
	if first {
		h.cfg.Log.Warn("live feed: transitions cannot be read, trying again", "err", err)
	}
}

func (h *Hub) readsWell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setRead("")
}

// passOnce reads and delivers what was pending when it began. The transactions
// heard of only tell which jobs to look at; what is new about a job is read
// from its cursor, so that no order of notifications can make a hole.
func (h *Hub) passOnce(ctx context.Context) error {
	s := h.take()
	jobs := s.jobs
	switch {
	case s.all:
		jobs = s.watched
	case len(s.xids) > 0 && len(s.watched) > 0:
		touched, err := h.touched(ctx, s)
		if err != nil {
			return err
		}
		jobs = append(jobs, touched...)
	}
	overflow := ErrSlow
	if s.gap {
		overflow = ErrTooFar // what came at once was missed before
	}
	horizon, err := h.readJobs(ctx, jobs, overflow)
	if err != nil {
		return err
	}
	if !s.all {
		horizon = s.barrier
	}
	h.advance(s.number, horizon)
	return nil
}

// touched asks which watched jobs the transactions were about.
func (h *Hub) touched(ctx context.Context, s sweep) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	batch, err := h.src.TransitionsOf(ctx, s.xids, s.watched)
	if err != nil {
		return nil, fmt.Errorf("read the transitions of %d transactions: %w", len(s.xids), err)
	}
	if batch.More {
		return s.watched, nil
	}
	found := map[int64]struct{}{}
	for _, t := range batch.Transitions {
		found[t.JobID] = struct{}{}
	}
	return keys(found), nil
}
