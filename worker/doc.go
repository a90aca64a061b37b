// Package worker runs jobs inside a Go program: it claims them, keeps their
// leases, hands them to handlers and offers what the handlers returned.
//
//	pool := worker.New(st, worker.Config{})
//	worker.Handle(pool, "report", func(ctx context.Context, job worker.Job[Args]) (Result, error) { … })
//	err := pool.Run(ctx)
//
// Nothing in this package makes a job safe. Package store does: each write of
// an attempt is accepted or refused in the database, on the locked row. What
// the pool adds is cooperation, so that an attempt which lost its permission
// stops early instead of being refused late.
//
// # Trust
//
// An attempt trusts its lease until the start of the call that granted it, plus
// the lease's length, less a margin, all on the process's monotonic clock. The
// database counts the same length from a later moment, so trust ends before the
// lease does, whatever the two clocks show. When it ends the attempt's context
// is cancelled, [Attempt.Check] refuses, and one more renewal is offered, so
// that the timeline shows how it was answered. A machine that sleeps may stop
// its monotonic clock too: then only the database knows, and refuses.
//
// # What a handler can rely on
//
// The context of a handler is cancelled with a cause ([context.Cause]):
//
//	ErrLeaseLost   the lease ended or went to another attempt
//	ErrTerminated  an operator ended the job
//	ErrShutdown    the pool's grace time is over
//	ErrTimeout     the kind's own time limit is over
//
// What a handler returns is always offered, however late: the store decides,
// and a refusal stays visible on the job's timeline. A panic and
// [runtime.Goexit] are failed attempts with a trace. A panic in a goroutine
// that the handler started ends the process, as in every Go program; the lease
// then expires and the attempt counts.
//
// Outside effects are not fenced by anything here. Hand [Job.IdempotencyKey] to
// the other side, and ask [Attempt.Check] right before each effect.
//
// # Parts
//
// Each queue has a claim loop that asks for as many jobs as it has free slots.
// One keeper renews every running attempt, in batches, on connections that
// nothing else uses. One completer offers results, failures and releases, in
// batches. Sweepers expire and promote; any number of processes may run them.
// Run starts these goroutines, and waits for each of them before it returns.
package worker
