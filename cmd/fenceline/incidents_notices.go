package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

// noticeFile is the file that says who is told of incidents.
type noticeFile struct {
	HTTP httpFile `name:"http" env:"FENCELINE_HTTP" placeholder:"FILE" help:"The file with the targets, of which notify says who is told of incidents."`
}

type incidentsNoticesCmd struct {
	database
	noticeFile
}

type noticeJSON struct {
	Target   string    `json:"target"`
	Format   string    `json:"format"`
	Severity string    `json:"severity"`
	Quiet    *string   `json:"quiet"`
	ToldAt   time.Time `json:"told_at,omitzero"`
	ToldBy   int64     `json:"told_by,string,omitzero"` // the job
}

// Run lists who is told of incidents, and what each was told last.
func (c *incidentsNoticesCmd) Run(ctx context.Context, a *app) error {
	names := []string{}
	for _, r := range c.HTTP.Notify {
		names = append(names, r.Target)
	}
	var told map[string]store.Told
	err := c.with(ctx, a, func(s *store.Store) (err error) {
		told, err = s.Told(ctx, names)
		return err
	})
	if err != nil {
		return err
	}
	out := []noticeJSON{}
	for _, r := range c.HTTP.Notify {
		n := noticeJSON{Target: r.Target, Format: string(r.Format), Severity: string(r.Severity), ToldAt: told[r.Target].At, ToldBy: told[r.Target].Job}
		if r.Quiet != nil {
			n.Quiet = wire.OrNull(r.Quiet.String())
		}
		out = append(out, n)
	}
	if a.json {
		return a.printJSON(map[string]any{"notices": out})
	}
	for _, n := range out {
		last, quiet := "never told", "always"
		if n.ToldBy != 0 {
			last = "told last at " + timeText(n.ToldAt) + " by job " + decimal(n.ToldBy)
		}
		if n.Quiet != nil {
			quiet = "quiet " + *n.Quiet
		}
		if err := a.printf("%s  %s  from %s on  %s  %s\n", oneLine(n.Target), n.Format, n.Severity, quiet, last); err != nil {
			return err
		}
	}
	if len(out) == 0 {
		return a.printf("Nobody is told of incidents: no file was given that says who is. Write one, with targets and a list notify, and give it to `fenceline serve` and `fenceline worker`, and here, with --http FILE (FENCELINE_HTTP); docs/incidents.md shows one.\n")
	}
	if len(out) == 1 {
		return a.printf("1 is told of incidents.\n")
	}
	return a.printf("%d are told of incidents.\n", len(out))
}

type incidentsTryCmd struct {
	database
	noticeFile
	Target string `arg:"" help:"Who is told, by the name in the file."`
}

// Run sends a test, as an incident would be told.
func (c *incidentsTryCmd) Run(ctx context.Context, a *app) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	var job int64
	err = c.with(ctx, a, func(s *store.Store) (err error) {
		job, err = s.TellAnyway(ctx, c.Target, body, actor())
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"job_id": decimal(job)})
	}
	return a.printf("Job %d of queue %s delivers it.\n", job, store.NoticeQueue)
}

func (c *incidentsTryCmd) body() (json.RawMessage, error) {
	for _, r := range c.HTTP.Notify {
		if r.Target == c.Target {
			return r.Test(time.Now(), c.HTTP.Console, actor())
		}
	}
	if len(c.HTTP.Notify) == 0 {
		return nil, usagef("--http: names nobody who is told of incidents; give the file that does, or set FENCELINE_HTTP")
	}
	return nil, usagef("TARGET: nobody of the name %s is told of incidents by the file of --http", oneLine(c.Target))
}
