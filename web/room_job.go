package web

import (
	"context"
	"time"

	"github.com/fenceline/fenceline/events"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const (
	jobPace  = 50 * time.Millisecond // between two renderings of one job
	maxSteps = 25000                 // transitions folded in before the job is read anew
)

// jobRoom shows one job. It reads the job once and folds in what the feed
// delivers, so that a renewal costs no query.
type jobRoom struct {
	server *Server
	id     int64

	view     store.JobView
	newest   uint64 // the transaction of the newest transition folded in
	position uint64
	shown    int64 // the transition up to which the room was shown the job
	stale    bool  // something changed that transitions do not carry
}

func (j *jobRoom) follow(ctx context.Context, r *room) error {
	if err := j.load(ctx); err != nil {
		return err
	}
	sub, err := j.server.cfg.Hub.Watch(ctx, []int64{j.id}, events.From{After: map[int64]int64{j.id: j.view.History.Last}})
	if err != nil {
		return err
	}
	defer sub.Close()
	r.ready()
	p := newPace(jobPace)
	defer p.stop()
	p.ask()
	for {
		select {
		case d, open := <-sub.C:
			if !open {
				return sub.Err()
			}
			if j.fold(d.Transitions) {
				p.ask()
			}
			j.position = max(j.position, d.Position)
			if !p.armed {
				r.move(j.position)
			}
		case <-r.wake:
			// Who came in may have a page that is newer than what was folded.
			if err := j.catchUp(ctx); err != nil {
				return err
			}
			p.ask()
		case <-p.due():
			began := time.Now()
			if err := j.render(ctx, r); err != nil {
				return err
			}
			p.did(began)
		}
	}
}

func (j *jobRoom) load(ctx context.Context) error {
	view, err := j.server.cfg.Store.JobView(ctx, j.id)
	if err != nil {
		return err
	}
	j.view, j.stale = view, false
	j.position = max(j.position, view.Horizon)
	for _, t := range view.Transitions {
		j.newest = max(j.newest, t.XID)
	}
	return nil
}

// fold reports whether anything was new.
func (j *jobRoom) fold(transitions []store.Transition) bool {
	changed := false
	for _, t := range transitions {
		if t.ID <= j.view.History.Last {
			continue
		}
		j.view.Transitions = append(j.view.Transitions, t)
		j.view.History.Add(t)
		j.newest = max(j.newest, t.XID)
		j.stale = j.stale || carriesMore(t.Type) || len(j.view.Transitions) > maxSteps
		changed = true
	}
	if changed {
		applyHistory(&j.view.Job, j.view.History)
	}
	return changed
}

// carriesMore reports whether a transition comes with something that is kept
// elsewhere: a result, an error, an output, follow-ups, a new beginning.
func carriesMore(t store.Type) bool {
	return t == store.TypeCompleted || t == store.TypeFailed || t == store.TypeExpired ||
		t == store.TypeReleased || t == store.TypeBaseline
}

// applyHistory brings a row up to what its transitions say.
func applyHistory(row *store.Job, h store.History) {
	row.State, row.Generation, row.Revision = h.State, h.Generation, h.Revision
	row.Attempts, row.MaxAttempts = h.Attempts, h.MaxAttempts
	row.AttemptID, row.AttemptEnd, row.LeaseUntil = h.AttemptID, h.AttemptEnd, h.LeaseUntil
	row.RunAt, row.FinishedAt = h.RunAt, h.FinishedAt
	for _, l := range h.Lanes {
		if l.AttemptID == h.AttemptID && !l.ClaimedAt.IsZero() {
			row.Worker, row.ClaimedAt = l.Worker, l.ClaimedAt
		}
	}
}

// catchUp reads what happened up to now, for the sake of who just came in.
func (j *jobRoom) catchUp(ctx context.Context) error {
	batch, err := j.server.cfg.Store.TransitionsAfter(ctx, []store.Cursor{{JobID: j.id, After: j.view.History.Last}}, 1000)
	if err != nil {
		return err
	}
	if batch.More {
		return j.load(ctx)
	}
	j.fold(batch.Transitions)
	return nil
}

func (j *jobRoom) render(ctx context.Context, r *room) error {
	if j.stale {
		if err := j.load(ctx); err != nil {
			return err
		}
	}
	now, err := j.server.clock.now(ctx)
	if err != nil {
		return err
	}
	j.view.Now = now
	if n := len(j.view.Transitions); n > 0 && now.Before(j.view.Transitions[n-1].At) {
		j.view.Now = j.view.Transitions[n-1].At
	}
	p := j.server.jobPage(j.server.patchFrame(ctx), j.view)
	if p.Ahead, err = j.server.ahead(ctx, j.view.Job); err != nil {
		return err
	}
	parts, err := rendered(ctx, views.JobParts(p))
	if err != nil {
		return err
	}
	tell := r.show
	if j.shown == j.view.History.Last {
		tell = r.welcome
	}
	tell(parts, j.newest, j.position)
	j.shown = j.view.History.Last
	return nil
}
