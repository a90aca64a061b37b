package main

import (
	"context"
	"errors"

	"github.com/fenceline/fenceline/store"
)

type verifyCmd struct {
	database
}

// Run holds every job against its log. What is wrong is printed, and the exit
// code says so.
func (c *verifyCmd) Run(ctx context.Context, a *app) error {
	s, err := c.open(ctx, a, visiting, small)
	if err != nil {
		return err
	}
	report, err := s.Verify(ctx)
	if err = errors.Join(err, s.close(ctx)); err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = printReport(a, report)
	}
	if err == nil && !report.OK {
		return errSaid
	}
	return err
}

func printReport(a *app, r store.Report) error {
	for _, v := range r.Violations {
		if err := a.printf("%s, job %d, transition %d: %s\n", v.Invariant, v.JobID, v.Transition, oneLine(v.Message)); err != nil {
			return err
		}
	}
	verdict := "nothing is wrong"
	if !r.OK {
		verdict = "the log does not hold"
	}
	return a.printf("%d jobs, %d transitions, %d refused writes: %s (%s).\n", r.Jobs, r.Transitions, r.Refused, verdict, r.Took)
}
