package events

import (
	"context"
	"fmt"

	"github.com/fenceline/fenceline/store"
)

// cursor is how far one subscription has come with one job. Until a transition
// of the job was seen there is no id to stand on, and what is new is told by
// its transaction instead: since is the horizon of a snapshot in which nothing
// was owed.
type cursor struct {
	known bool
	after int64  // when known: the id of the last transition delivered
	since uint64 // when not: no transaction below it is owed
}

// start is what a subscription begins with.
type start struct {
	missed   []store.Transition
	cursors  map[int64]*cursor
	position uint64
}

// catchUp reads what was missed since from, at most MaxReplay transitions.
func (h *Hub) catchUp(ctx context.Context, jobs []int64, from From) (start, error) {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return start{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var byID []store.Cursor
	var byPosition []int64
	for _, job := range jobs {
		if after, ok := from.After[job]; ok {
			byID = append(byID, store.Cursor{JobID: job, After: after})
		} else {
			byPosition = append(byPosition, job)
		}
	}
	s := start{cursors: make(map[int64]*cursor, len(jobs))}
	if err := h.replayAfter(ctx, &s, byID); err != nil {
		return start{}, err
	}
	if err := h.replaySince(ctx, &s, byPosition, from.Position); err != nil {
		return start{}, err
	}
	return s, nil
}

// replayAfter resumes behind ids. Each id is read again to see that it is one
// of that job's transitions: behind an invented one, or one that retention
// dropped, or one that a failover lost, nobody can say what is missing.
func (h *Hub) replayAfter(ctx context.Context, s *start, from []store.Cursor) error {
	if len(from) == 0 {
		return nil
	}
	unseen := make(map[int64]int64, len(from))
	ask := make([]store.Cursor, len(from))
	for i, c := range from {
		s.cursors[c.JobID] = &cursor{known: true, after: c.After}
		ask[i] = c
		if c.After > 0 {
			ask[i].After--
			unseen[c.JobID] = c.After
		}
	}
	batch, err := h.src.TransitionsAfter(ctx, ask, h.cfg.MaxReplay+h.cfg.MaxJobs)
	if err != nil {
		return fmt.Errorf("read what was missed: %w", err)
	}
	for _, t := range batch.Transitions {
		if unseen[t.JobID] == t.ID {
			delete(unseen, t.JobID)
			continue
		}
		s.missed = append(s.missed, t)
		s.cursors[t.JobID].after = t.ID
	}
	if batch.More || len(s.missed) > h.cfg.MaxReplay {
		return tooFar("more than %d transitions were missed", h.cfg.MaxReplay)
	}
	for job, after := range unseen {
		return tooFar("job %d has no transition %d", job, after)
	}
	s.reached(batch.Horizon)
	return nil
}

// replaySince resumes by a position; 0 is now.
func (h *Hub) replaySince(ctx context.Context, s *start, jobs []int64, position uint64) error {
	if len(jobs) == 0 {
		return nil
	}
	horizon, err := h.src.Horizon(ctx)
	if err != nil {
		return fmt.Errorf("read the horizon: %w", err)
	}
	switch {
	case position == 0:
		for _, job := range jobs {
			s.cursors[job] = &cursor{since: horizon}
		}
		s.reached(horizon)
		return nil
	case position > horizon:
		return tooFar("position %d has not been reached", position)
	case horizon-position > h.cfg.MaxGap:
		return tooFar("position %d is %d transactions old", position, horizon-position)
	}
	batch, err := h.src.TransitionsSince(ctx, jobs, position, h.cfg.MaxReplay)
	if err != nil {
		return fmt.Errorf("read what was missed: %w", err)
	}
	if batch.More {
		return tooFar("more than %d transitions were missed", h.cfg.MaxReplay)
	}
	for _, job := range jobs {
		s.cursors[job] = &cursor{since: batch.Horizon}
	}
	for _, t := range batch.Transitions {
		*s.cursors[t.JobID] = cursor{known: true, after: t.ID}
	}
	s.missed = append(s.missed, batch.Transitions...)
	s.reached(batch.Horizon)
	return nil
}

// reached keeps the lowest horizon of the reads it was made of.
func (s *start) reached(horizon uint64) {
	if s.position == 0 || horizon < s.position {
		s.position = horizon
	}
}
