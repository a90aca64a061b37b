package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
	"github.com/fenceline/fenceline/views"
)

type auditCmd struct {
	database
	Actor     string    `name:"actor" help:"Only what this one did."`
	Action    string    `name:"action" help:"Only this action, as requeue, terminate, reveal, search, pause or confirm."`
	Outcome   string    `name:"outcome" help:"done, or why it was refused."`
	Job       int64     `name:"job" placeholder:"ID" help:"Only what was done to this job."`
	Operation int64     `name:"operation" placeholder:"ID" help:"Only this operation, its jobs included."`
	From      time.Time `name:"from" format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"From then on, as 2026-01-31T09:30:00Z."`
	To        time.Time `name:"to" format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"Before then."`
	Limit     int       `name:"limit" default:"50" help:"How many at most; 1 to 5000."`
	After     int64     `name:"after" placeholder:"CURSOR" help:"Go on where the last page ended."`
	Export    string    `name:"export" enum:",csv,jsonl" default:"" placeholder:"FORMAT" help:"Print all that is selected, as csv or jsonl."`
}

// Run prints one page of the audit, or all of it.
func (c *auditCmd) Run(ctx context.Context, a *app) error {
	if c.Limit < 1 || c.Limit > store.MaxAuditPage {
		return usagef("--limit: must be between 1 and %d", store.MaxAuditPage)
	}
	f := store.AuditFilter{Actor: c.Actor, Action: c.Action, Outcome: c.Outcome, JobID: c.Job, Operation: c.Operation,
		From: c.From, To: c.To, After: c.After, Limit: c.Limit}
	return c.with(ctx, a, func(st *store.Store) error {
		if c.Export != "" {
			return exportAudit(ctx, a, st, f, c.Export)
		}
		p, err := st.Audit(ctx, f)
		if err != nil {
			return named(err)
		}
		return printAudit(a, p)
	})
}

func exportAudit(ctx context.Context, a *app, st *store.Store, f store.AuditFilter, format string) error {
	f.Limit = 1000
	write := views.AuditWriter(a.out, format)
	for {
		p, err := st.Audit(ctx, f)
		if err != nil {
			return named(err)
		}
		if err := write(p.Entries); err != nil || p.Next == 0 {
			return err
		}
		f.After = p.Next
	}
}

func printAudit(a *app, p store.AuditPage) error {
	if a.json {
		return a.printJSON(wire.AuditPageOf(p))
	}
	rows := make([][]string, len(p.Entries))
	for i, e := range p.Entries {
		job := ""
		if e.JobID != 0 {
			job = decimal(e.JobID)
		}
		rows[i] = []string{timeText(e.At), e.Actor, e.Action, e.Outcome, job, fmt.Sprint(e.Seen), e.Reason}
	}
	if len(rows) == 0 && p.Next == 0 {
		return a.printf("No entry matches.\n")
	}
	if err := printTable(a.out, []string{"AT", "ACTOR", "ACTION", "OUTCOME", "JOB", "SEEN", "REASON"}, rows); err != nil || p.Next == 0 {
		return err
	}
	if p.Looked > 0 {
		return a.printf("Looked through %d entries; more may match: --after %d\n", p.Looked, p.Next)
	}
	return a.printf("There are more: --after %d\n", p.Next)
}
