package main

import (
	"context"
	"errors"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

// printPast prints what the queues looked like in a minute.
func printPast(ctx context.Context, a *app, st *store.Store, text string) error {
	now, err := st.Clock(ctx)
	if err != nil {
		return err
	}
	at, err := store.ParseMinute(text, now)
	var p store.Past
	if err == nil {
		p, err = st.Past(ctx, at)
	}
	var invalid *store.InvalidError
	if errors.As(err, &invalid) {
		return usagef("--at: %s %s", oneLine(text), invalid.Message)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(wire.PastOf(p))
	}
	rows := make([][]string, len(p.Queues))
	for i, q := range p.Queues {
		stood := []string{"?", "?", "?"}
		if q.Known {
			stood = []string{decimal(q.Waiting.N), q.Oldest.Round(time.Second).String(), decimal(q.Running)}
			if q.Waiting.Capped {
				stood[0] += "+"
			}
		}
		rows[i] = append([]string{q.Name}, append(stood, decimal(q.Claimed), decimal(q.Completed), decimal(q.Failed), decimal(q.Expired), decimal(q.Refused))...)
	}
	if len(rows) > 0 {
		if err := printTable(a.out, []string{"QUEUE", "WAITING", "OLDEST DUE FOR", "RUNNING", "CLAIMED", "COMPLETED", "FAILED", "EXPIRED", "REFUSED"}, rows); err != nil {
			return err
		}
	}
	if !p.Gone() {
		if err := a.printf("Jobs of the minute that are still there, each once: %s completed, %s lost a lease, %s had a late write refused.\n",
			views.CountText(p.Jobs.Completed), views.CountText(p.Jobs.Expired), views.CountText(p.Jobs.Refused)); err != nil {
			return err
		}
	}
	for _, i := range p.Incidents {
		if err := a.printf("Open then: incident %d, %s %s.\n", i.ID, i.Rule, oneLine(i.Scope)); err != nil {
			return err
		}
	}
	switch {
	case p.Gone() && p.Sampled.IsZero():
		return a.printf("Nothing is known of %s: it lies before all counts that are kept.\n", at.Format("2006-01-02 15:04"))
	case p.Sampled.IsZero():
		return a.printf("At %s UTC. Nobody wrote down what stood in the queues.\n", p.At.Format("2006-01-02 15:04"))
	}
	return a.printf("At %s UTC. What stood in the queues was read at %s.\n", p.At.Format("2006-01-02 15:04"), p.Sampled.Format("15:04:05"))
}
