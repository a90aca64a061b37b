package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

// aboutIncident says which incident an error is about.
func aboutIncident(id int64, err error) error {
	if errors.Is(err, store.ErrNoIncident) {
		return fmt.Errorf("there is no incident %d", id)
	}
	return err
}

type incidentsReportCmd struct {
	database
	ID int64 `arg:"" help:"The incident's id."`
}

// Run prints the report on an incident: Markdown, or JSON with --json.
func (c *incidentsReportCmd) Run(ctx context.Context, a *app) error {
	var r store.IncidentReport
	err := c.with(ctx, a, func(s *store.Store) (err error) {
		r, err = s.IncidentReport(ctx, c.ID)
		return aboutIncident(c.ID, err)
	})
	if err != nil {
		return err
	}
	format := views.FormatMarkdown
	if a.json {
		format = views.FormatJSON
	}
	return views.WriteIncidentReport(a.out, r, format)
}
