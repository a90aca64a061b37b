package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fenceline/fenceline/store/proof/mutant"
)

// fault is something that goes wrong. Do does it and lets it heal; an error
// means that it could not be done, and it is not counted.
type fault struct {
	name   string
	do     func(ctx context.Context, r *Rig, rng *rand.Rand) error
	server bool // of the whole database: one of these at a time
	weight int  // how often it is drawn
}

// ofProcesses befall one process or its connections.
var ofProcesses = []fault{
	{name: "worker killed (SIGKILL)", weight: 8, do: func(_ context.Context, r *Rig, rng *rand.Rand) error { return pick(rng, r.of(playWorker)).kill() }},
	{name: "producer killed (SIGKILL)", weight: 2, do: func(_ context.Context, r *Rig, rng *rand.Rand) error { return pick(rng, r.of(playProducer)).kill() }},
	{name: "operator killed (SIGKILL)", weight: 1, do: func(_ context.Context, r *Rig, rng *rand.Rand) error { return pick(rng, r.of(playOperator)).kill() }},
	{name: "worker stopped past its lease (SIGSTOP, SIGCONT)", weight: 14, do: stopped},
	{name: "worker's clock set 10 minutes wrong", weight: 3, do: skewed},
	{name: "worker's connections used up", weight: 2, do: usedUp},
	{name: "connections of a process cut", weight: 8, do: cutOff},
	{name: "connections of a process half-open", weight: 5, do: halfOpen},
	{name: "connections of a process slow", weight: 3, do: slowed},
	{name: "commit made, its answer lost", weight: 12, do: answerLost},
}

// ofServer befall everybody.
var ofServer = []fault{
	{name: "every session terminated (pg_terminate_backend)", weight: 8, server: true, do: terminated},
	{name: "the listeners terminated", weight: 8, server: true, do: listenersKilled},
	{name: "database restarted (fast)", weight: 2, server: true, do: func(ctx context.Context, r *Rig, _ *rand.Rand) error { return r.restart(ctx, false) }},
	{name: "database crashed and recovered (immediate)", weight: 3, server: true, do: func(ctx context.Context, r *Rig, _ *rand.Rand) error { return r.restart(ctx, true) }},
	{name: "database frozen (its sessions stopped)", weight: 3, server: true, do: frozen},
	{name: "jobs locked against writing", weight: 2, server: true, do: locked},
	{name: "database read-only", weight: 2, server: true, do: readOnly},
	{name: "database out of connections", weight: 2, server: true, do: crowded},
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func draw(rng *rand.Rand, from []fault) fault {
	total := 0
	for _, f := range from {
		total += f.weight
	}
	at := rng.IntN(total)
	for _, f := range from {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	return from[len(from)-1]
}

// between draws a duration.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)+1))
}

func stopped(ctx context.Context, r *Rig, rng *rand.Rand) error {
	m, d := pick(rng, r.of(playWorker)), between(rng, lease/4, 2*lease)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.process.Pause(); err != nil {
		return err
	}
	rest(ctx, d)
	return m.process.Continue()
}

// skewed sets the clock of a worker wrong while it works, and right again.
func skewed(ctx context.Context, r *Rig, rng *rand.Rand) error {
	m := pick(rng, r.of(playWorker))
	skew := 10 * time.Minute
	if rng.IntN(2) == 0 {
		skew = -skew
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order(orderSkew + skew.String())
	rest(ctx, between(rng, lease/2, 2*lease))
	m.order(orderSkew + "0s")
	return nil
}

// usedUp makes a worker wait with all its connections for a table that is
// locked; only those for renewals are left.
func usedUp(ctx context.Context, r *Rig, rng *rand.Rand) error {
	m := pick(rng, r.of(playWorker))
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.holding(ctx, "lock table fenceline.attempt_errors in access exclusive mode", between(rng, lease, 2*lease), func() { m.order(orderHog) })
}

func locked(ctx context.Context, r *Rig, rng *rand.Rand) error {
	return r.holding(ctx, "lock table fenceline.jobs in share row exclusive mode", between(rng, lease/4, 3*lease/2), func() {})
}

// holding keeps a transaction open for a while.
func (r *Rig) holding(ctx context.Context, sql string, d time.Duration, begun func()) error {
	conn, err := r.owner(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "begin; set local lock_timeout = '2s'; "+sql); err != nil {
		return err
	}
	begun()
	rest(ctx, d)
	_, err = conn.Exec(ctx, "rollback")
	return err
}

func cutOff(_ context.Context, r *Rig, rng *rand.Rand) error {
	pick(rng, r.all()).relay.Cut()
	return nil
}

func halfOpen(ctx context.Context, r *Rig, rng *rand.Rand) error {
	m := pick(rng, r.all())
	m.relay.Silence(rng.IntN(2) == 0)
	rest(ctx, between(rng, lease/2, 5*lease/2))
	m.relay.Mend()
	return nil
}

func slowed(ctx context.Context, r *Rig, rng *rand.Rand) error {
	m := pick(rng, r.all())
	m.relay.Slow(between(rng, 20*time.Millisecond, 300*time.Millisecond))
	rest(ctx, between(rng, lease/2, 2*lease))
	m.relay.Slow(0)
	return nil
}

// answerLost waits for a commit of the verb; one that does not come is not
// counted.
func answerLost(ctx context.Context, r *Rig, rng *rand.Rand) error {
	play := playWorker
	fragment := pick(rng, []string{mutant.InClaim, mutant.InComplete, mutant.InRenew, mutant.InFail})
	switch rng.IntN(5) {
	case 0:
		play, fragment = playProducer, inEnqueue
	case 1:
		play, fragment = playOperator, mutant.InOperators
	}
	cut := pick(rng, r.of(play)).relay.CutAnswer(fragment)
	select {
	case <-cut.Done():
		return nil
	case <-time.After(5 * lease):
	case <-ctx.Done():
	}
	if !cut.Disarm() {
		return fmt.Errorf("no commit came to lose the answer of")
	}
	return nil
}
