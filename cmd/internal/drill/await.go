package drill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	pollEvery = 50 * time.Millisecond
	batch     = 100 // transitions of one reading
)

// await returns the next of the job's transitions that is wanted; those before
// it are passed over. A worker that ends without being asked ends the wait.
func (d *Drill) await(ctx context.Context, what string, wanted func(store.Transition) bool, workers ...*actor) (store.Transition, error) {
	for {
		for len(d.waiting) > 0 {
			t := d.waiting[0]
			d.waiting = d.waiting[1:]
			if wanted(t) {
				return t, nil
			}
			if t.Type == store.TypeTerminated || t.Type == store.TypeRequeued {
				return t, fmt.Errorf("somebody changed the drill's job meanwhile: it was %s by %s", t.Type, t.Actor)
			}
			if t.Type == store.TypeCompleted {
				return t, fmt.Errorf("%w: a result of generation %d was accepted while waiting for %s", ErrBroken, t.Generation, what)
			}
		}
		if err := d.read(ctx); err != nil {
			return store.Transition{}, overdue(ctx, what, err, workers)
		}
		if len(d.waiting) > 0 {
			continue
		}
		for _, w := range workers {
			if err := w.died(); err != nil {
				return store.Transition{}, fmt.Errorf("while waiting for %s: %w", what, err)
			}
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return store.Transition{}, overdue(ctx, what, context.Cause(ctx), workers)
		}
	}
}

func (d *Drill) read(ctx context.Context) error {
	found, err := d.cfg.Store.Transitions(ctx, d.Job, d.last, batch)
	if err != nil {
		return err
	}
	for _, t := range found {
		d.last = t.ID
	}
	d.waiting = append(d.waiting, found...)
	return nil
}

func overdue(ctx context.Context, what string, err error, workers []*actor) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if !errors.Is(err, context.Canceled) {
		for _, w := range workers {
			err = w.heard(err)
		}
	}
	return fmt.Errorf("waiting for %s: %w", what, err)
}
