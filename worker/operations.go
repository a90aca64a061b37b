package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/fenceline/fenceline/store"
)

const (
	carryEvery  = time.Second // between two looks for an operation, when none can go on
	forgetEach  = 1800        // of those, between two removals of what is over
	carryFailed = 5 * time.Second
)

// CarryOperations carries operators' actions on many jobs on until ctx ends, a
// step at a time; a [Pool] does so by itself. Any number of processes may: each
// step is one transaction under the operation's lock, and a process that dies has
// done nothing of its step. worker is who the operations name.
func CarryOperations(ctx context.Context, st *store.Store, worker string, log *slog.Logger) {
	for idle := 0; ; {
		step, err := st.StepOperation(ctx, worker)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("the database did not do it; trying again", "worker", worker, "verb", "step of an operation", "reason", err.Error())
			if !pause(ctx, carryFailed) {
				return
			}
			continue
		case step.ID != 0:
			continue
		}
		if idle%forgetEach == 0 {
			if _, err := st.ForgetOperations(ctx, store.OperationKept); err != nil && ctx.Err() == nil {
				log.Warn("the database did not do it; trying again", "worker", worker, "verb", "forget operations", "reason", err.Error())
			}
		}
		idle++
		wait := spread(carryEvery)
		if step.Next >= 0 {
			wait = min(wait, max(step.Next, sweepFloor))
		}
		if !pause(ctx, wait) {
			return
		}
	}
}
