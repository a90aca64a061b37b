package drill

import (
	"context"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
)

// Run plays the story and reports each step as it happens. It returns nil only
// when the database holds the right ending: the late result refused and
// recorded under the first attempt, the second attempt's result stored. Its
// processes have ended when it returns.
func (d *Drill) Run(ctx context.Context, report func(Step)) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Limit, fmt.Errorf("the drill took longer than %s", d.cfg.Limit))
	defer cancel()
	d.report = report
	defer func() {
		if err != nil {
			d.abandon(ctx)
		}
	}()
	if err := d.enqueued(ctx); err != nil {
		return err
	}
	a, err := d.start("A")
	if err != nil {
		return err
	}
	defer a.end()
	if err := d.claims(ctx, a, 1); err != nil {
		return err
	}
	if err := d.pause(ctx, a); err != nil {
		return err
	}
	b, err := d.start("B")
	if err != nil {
		return err
	}
	defer b.end()
	return d.secondHalf(ctx, a, b)
}

func (d *Drill) secondHalf(ctx context.Context, a, b *actor) error {
	for _, step := range []func() error{
		func() error { return d.expires(ctx, a, b) },
		func() error { return d.claims(ctx, b, 2) },
		func() error { return d.resume(ctx, a) },
		func() error { return d.refused(ctx, a, b) },
		func() error { return d.completes(ctx, a, b) },
		func() error { return d.verify(ctx, a, b) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drill) enqueued(ctx context.Context) error {
	t, err := d.await(ctx, "the job to be enqueued", is(store.TypeEnqueued))
	if err != nil {
		return err
	}
	d.tell(Step{Step: "enqueued", At: t.At, Text: fmt.Sprintf("job %d is enqueued", d.Job)})
	return nil
}

func (d *Drill) claims(ctx context.Context, who *actor, generation int64) error {
	t, err := d.await(ctx, who.name+" to claim the job", func(t store.Transition) bool {
		return t.Type == store.TypeClaimed && t.Generation == generation
	}, who)
	if err != nil {
		return err
	}
	who.attempt, who.generation = t.AttemptID, t.Generation
	d.tell(who.step("claimed", t.At, "%s (process %d) claims the job, generation %d; its lease ends at %s",
		who.name, who.PID(), t.Generation, clock(t.LeaseUntil)))
	return d.rest(ctx)
}

func (d *Drill) pause(ctx context.Context, a *actor) error {
	if err := a.stop(ctx); err != nil {
		return err
	}
	now, err := d.cfg.Store.Clock(ctx)
	if err != nil {
		return err
	}
	d.tell(a.step("stopped", now, "%s is stopped (SIGSTOP): it renews no more, and does not know", a.name))
	return nil
}

func (d *Drill) expires(ctx context.Context, a, b *actor) error {
	t, err := d.await(ctx, "A's lease to expire", func(t store.Transition) bool {
		return t.Type == store.TypeExpired && t.AttemptID == a.attempt
	}, b)
	if err != nil {
		return err
	}
	d.tell(a.step("expired", t.At, "A's lease has expired; its process has not ended, it lost its permission"))
	return nil
}

// resume lets A go on. It is told first that its work is done, so that the
// result is the first thing it thinks of when it wakes up.
func (d *Drill) resume(ctx context.Context, a *actor) error {
	if err := a.finish(); err != nil {
		return err
	}
	now, err := d.cfg.Store.Clock(ctx)
	if err != nil {
		return err
	}
	if err := a.cont(); err != nil {
		return err
	}
	d.tell(a.step("continued", now, "A is continued (SIGCONT) and submits its result with generation %d", a.generation))
	return nil
}

func (d *Drill) refused(ctx context.Context, a, b *actor) error {
	t, err := d.await(ctx, "A's late result to be refused", func(t store.Transition) bool {
		return t.Type == store.TypeRejected && t.AttemptID == a.attempt && t.Op == store.OpComplete
	}, a, b)
	if err != nil {
		return err
	}
	s := a.step("refused", t.At, "A's result is refused and recorded: %s (generation %d, current is %d)",
		t.Reason, t.Generation, t.Detail.Current)
	s.Op, s.Reason = string(t.Op), t.Reason
	d.tell(s)
	return d.rest(ctx)
}

func (d *Drill) completes(ctx context.Context, a, b *actor) error {
	if err := b.finish(); err != nil {
		return err
	}
	t, err := d.await(ctx, "B to complete the job", is(store.TypeCompleted), b)
	if err != nil {
		return err
	}
	if t.AttemptID != b.attempt {
		return fmt.Errorf("%w: the result was accepted from attempt %s, which is not B's", ErrBroken, t.AttemptID)
	}
	d.tell(b.step("completed", t.At, "B submits with generation %d; its result is accepted", t.Generation))
	return nil
}

func is(want store.Type) func(store.Transition) bool {
	return func(t store.Transition) bool { return t.Type == want }
}

// rest lets a person see the step before the next one.
func (d *Drill) rest(ctx context.Context) error {
	select {
	case <-time.After(d.cfg.Pace):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
