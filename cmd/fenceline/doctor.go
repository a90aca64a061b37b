package main

import (
	"context"
	"errors"

	"github.com/fenceline/fenceline/store/doctor"
)

type doctorCmd struct {
	database
}

// Run looks at the database and says what an operator should do. It changes
// nothing, and exits with 1 when a check failed.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	p, err := c.reach(ctx, a, visiting)
	if err != nil {
		return err
	}
	report := doctor.Examine(ctx, doctor.Config{URL: p.runtime, OwnerURL: p.owner})
	if err := p.close(ctx); err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = printFindings(a, report)
	}
	if !report.OK {
		err = errors.Join(err, errSaid)
	}
	return err
}

// printFindings prints a line for each check, and its advice below it.
func printFindings(a *app, r doctor.Report) error {
	for _, f := range r.Findings {
		if err := a.printf("%-4s  %-22s  %s\n", f.Status, f.Check, oneLine(f.Seen)); err != nil {
			return err
		}
		if f.Advice != "" {
			if err := a.printf("%-4s  %-22s  → %s\n", "", "", oneLine(f.Advice)); err != nil {
				return err
			}
		}
	}
	verdict := "nothing stands in the way"
	if !r.OK {
		verdict = "jobs can be lost, held up or refused"
	}
	return a.printf("%s, %d failed, %d to look at: %s.\n", counted(int64(len(r.Findings)), "check"), r.Failed, r.Warned, verdict)
}
