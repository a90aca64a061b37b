package main

import (
	"context"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

type verifyCmd struct {
	database
}

// Run holds every job against its log. What is wrong is printed, and the exit
// code says so.
func (c *verifyCmd) Run(ctx context.Context, a *app) error {
	return c.with(ctx, a, func(st *store.Store) error {
		report, err := st.Verify(ctx)
		if err != nil {
			return err
		}
		if err := printReport(a, report); err != nil || report.OK {
			return err
		}
		return errSaid
	})
}

// printVerified says what was checked while jobs ran: that is never the verdict of
// this run, which reads everything that is still there.
func printVerified(a *app, v store.Verification) error {
	if v.N == 0 {
		return a.printf("In the background nothing was checked yet.\n")
	}
	for _, f := range v.Found {
		if err := a.printf("Found in the background at %s: %s, job %d, transition %d: %s\n", timeText(f.FoundAt), f.Invariant, f.JobID, f.Transition, oneLine(f.Message)); err != nil {
			return err
		}
	}
	if !v.MissedUntil.IsZero() {
		if err := a.printf("What the log held from %s to %s may have been removed before it was checked.\n", timeText(v.MissedFrom), timeText(v.MissedUntil)); err != nil {
			return err
		}
	}
	return a.printf("In the background %d transitions were checked, from %s through %s, last at %s; %d stale writes were accepted.\n",
		v.N, timeText(v.Since), timeText(v.Through), timeText(v.At), v.Stale)
}

func printReport(a *app, r store.Report) error {
	if a.json {
		return a.printJSON(struct {
			store.Report
			Background wire.Verification `json:"background"`
		}{r, wire.VerificationOf(r.Background)})
	}
	for _, v := range r.Violations {
		if err := a.printf("%s, job %d, transition %d: %s\n", v.Invariant, v.JobID, v.Transition, oneLine(v.Message)); err != nil {
			return err
		}
	}
	verdict := "nothing is wrong"
	if !r.OK {
		verdict = "the log does not hold"
	}
	if err := printVerified(a, r.Background); err != nil {
		return err
	}
	return a.printf("%d jobs, %d transitions, %d refused writes: %s (%s).\n", r.Jobs, r.Transitions, r.Refused, verdict, r.Took)
}
