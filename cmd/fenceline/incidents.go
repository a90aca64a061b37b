package main

import (
	"context"
	"fmt"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/detect"
)

// incidentsCmd holds the verbs about what is wrong.
type incidentsCmd struct {
	List    incidentsListCmd    `cmd:"" help:"List what is wrong, and what was of late."`
	Ack     incidentsAckCmd     `cmd:"" help:"Say that you have an incident."`
	Resolve incidentsResolveCmd `cmd:"" help:"End an incident; only what happens afterwards opens it again."`
	Snooze  incidentsSnoozeCmd  `cmd:"" help:"Let an incident stand back for a time."`
	Weigh   incidentsWeighCmd   `cmd:"" help:"Say how severe an incident is."`
	Note    incidentsNoteCmd    `cmd:"" help:"Add a note to an incident's timeline."`
	Merge   incidentsMergeCmd   `cmd:"" help:"Make an incident part of another one, which goes on with its jobs and its timeline."`
	Report  incidentsReportCmd  `cmd:"" help:"Print the report on an incident, as Markdown or with --json as JSON. It holds no payload, result or error text."`

	Notices incidentsNoticesCmd `cmd:"" help:"List who is told of incidents, and what each was told last."`
	Try     incidentsTryCmd     `cmd:"" help:"Send a test to who is told of incidents."`

	Record incidentsRecordCmd `cmd:"" help:"Write the end of the log to standard output, to be replayed elsewhere. It holds no payload and no operator's words."`
	Replay incidentsReplayCmd `cmd:"" help:"Tell a report that was exported as JSON, or run the rules over a recorded log and tell what they would have found, and when. Needs no database and changes nothing."`
}

type incidentsRecordCmd struct {
	database
	Limit int `name:"limit" default:"100000" help:"How many transitions, the newest ones: 1 to 1000000."`
}

// Run records the end of the log.
func (c *incidentsRecordCmd) Run(ctx context.Context, a *app) error {
	if c.Limit < 1 || c.Limit > 1_000_000 {
		return usagef("--limit: %d must be between 1 and 1000000", c.Limit)
	}
	var log []store.Transition
	err := c.with(ctx, a, func(s *store.Store) (err error) {
		log, err = s.Tail(ctx, c.Limit)
		return err
	})
	if err != nil {
		return err
	}
	return detect.Write(a.out, log)
}

// thresholds are what is configured of the rules.
type thresholds struct {
	Set []setting `name:"threshold" env:"FENCELINE_THRESHOLD" placeholder:"NAME=VALUE" group:"Rules" help:"From where on something is wrong, as in expiries=20, objective=30s or objective:mail=5s. May be repeated."`
}

// setting is NAME=VALUE.
type setting assignment

// UnmarshalText reads a flag.
func (s *setting) UnmarshalText(text []byte) error {
	var a assignment
	if err := a.UnmarshalText(text); err != nil {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	t := detect.Defaults()
	if err := t.Set(a.Name, a.Value); err != nil {
		return err
	}
	*s = setting(a)
	return nil
}

// read returns the defaults with what is set. Each setting was checked when it
// was parsed.
func (t thresholds) read() detect.Thresholds {
	out := detect.Defaults()
	for _, s := range t.Set {
		_ = out.Set(s.Name, s.Value)
	}
	return out
}
