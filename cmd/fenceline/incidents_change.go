package main

import (
	"context"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/wire"
)

type incidentsListCmd struct{ database }

// printIncident prints one as it is now, by the database's clock.
func (a *app) printIncident(i store.Incident, now time.Time) error {
	if a.json {
		return a.printJSON(wire.IncidentOf(i))
	}
	owner := i.Owner
	if owner == "" {
		owner = "nobody"
	}
	state := string(i.State)
	if i.Snoozed(now) {
		state += ", snoozed until " + i.SnoozedUntil.Format("2006-01-02 15:04:05") + " UTC"
	}
	return a.printf("%d  %s  %s  %s  revision %d, %s: %s\n", i.ID, state, i.Severity, ruleScope(i.Rule, i.Scope), i.Revision, oneLine(owner), oneLine(i.What))
}

// Run lists what is not resolved, and what was of late.
func (c *incidentsListCmd) Run(ctx context.Context, a *app) error {
	var list store.Incidents
	err := c.with(ctx, a, func(s *store.Store) (err error) {
		list, err = s.Incidents(ctx)
		return err
	})
	if err != nil {
		return err
	}
	all := append(list.Active, list.Past...)
	if a.json {
		return a.printJSON(map[string]any{"incidents": wire.IncidentsOf(all)})
	}
	for _, i := range all {
		if err := a.printIncident(i, list.Now); err != nil {
			return err
		}
	}
	return a.printf("%d not resolved, %d resolved of late.\n", len(list.Active), len(list.Past))
}

// incidentsChangeCmd is what the verbs that change an incident share.
type incidentsChangeCmd struct {
	database
	ID     int64  `arg:"" help:"The incident's id."`
	Seen   int64  `name:"seen" help:"The revision that you looked at; without it, the one that is read first."`
	Reason string `name:"reason" help:"Why, for the timeline."`
}

func (c *incidentsChangeCmd) change(ctx context.Context, a *app, ch store.IncidentChange) error {
	var i store.Incident
	var now time.Time
	err := c.with(ctx, a, func(s *store.Store) (err error) {
		if i, err = c.apply(ctx, s, ch); err == nil {
			now, err = s.Clock(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	return a.printIncident(i, now)
}

func (c *incidentsChangeCmd) apply(ctx context.Context, s *store.Store, ch store.IncidentChange) (store.Incident, error) {
	ch.ID, ch.Actor, ch.Reason, ch.Seen = c.ID, actor(), c.Reason, &c.Seen
	if c.Seen == 0 {
		v, err := s.Incident(ctx, c.ID)
		if err != nil {
			return store.Incident{}, aboutIncident(c.ID, err)
		}
		ch.Seen = &v.Incident.Revision
	}
	i, err := s.ChangeIncident(ctx, ch)
	return i, named(aboutIncident(c.ID, err))
}

type incidentsAckCmd struct {
	incidentsChangeCmd
	For time.Duration `name:"for" help:"For how long; without it, until it is resolved."`
}

// Run says who has the incident.
func (c *incidentsAckCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, store.IncidentChange{Action: store.IncidentAcknowledge, For: c.For})
}

type incidentsResolveCmd struct{ incidentsChangeCmd }

// Run ends the incident until something of it happens again.
func (c *incidentsResolveCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, store.IncidentChange{Action: store.IncidentResolve})
}

type incidentsSnoozeCmd struct {
	incidentsChangeCmd
	For time.Duration `name:"for" required:"" help:"For how long."`
}

// Run lets the incident stand back.
func (c *incidentsSnoozeCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, store.IncidentChange{Action: store.IncidentSnooze, For: c.For})
}

type incidentsWeighCmd struct {
	incidentsChangeCmd
	Severity string `name:"severity" required:"" placeholder:"LEVEL" help:"low, medium or high."`
}

// Run says how severe the incident is.
func (c *incidentsWeighCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, store.IncidentChange{Action: store.IncidentSeverity, Severity: c.Severity})
}

type incidentsNoteCmd struct{ incidentsChangeCmd }

// Run adds to the incident's timeline.
func (c *incidentsNoteCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, store.IncidentChange{Action: store.IncidentNote})
}

type incidentsMergeCmd struct {
	incidentsChangeCmd
	Into int64 `name:"into" required:"" placeholder:"ID" help:"The incident that goes on."`
}

// Run makes the incident part of another one.
func (c *incidentsMergeCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, store.IncidentChange{Action: store.IncidentMerge, Into: c.Into})
}
