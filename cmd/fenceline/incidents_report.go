package main

import (
	"context"
	"errors"

	"github.com/fenceline/fenceline/views"
)

type incidentsReportCmd struct {
	database
	ID int64 `arg:"" help:"The incident's id."`
}

// Run prints the report on an incident: Markdown, or JSON with --json.
func (c *incidentsReportCmd) Run(ctx context.Context, a *app) error {
	s, err := c.open(ctx, a, visiting, small)
	if err != nil {
		return err
	}
	r, err := s.IncidentReport(ctx, c.ID)
	if err = errors.Join(err, s.close(ctx)); err != nil {
		return err
	}
	format := views.FormatMarkdown
	if a.json {
		format = views.FormatJSON
	}
	return views.WriteIncidentReport(a.out, r, format)
}
