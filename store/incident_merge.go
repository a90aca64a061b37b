package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// join makes a merged incident, and those that were merged into it before, part
// of the one that goes on: with its jobs and its timeline.
func (i Incident) join(ctx context.Context, tx pgx.Tx, c IncidentChange) error {
	into, err := lockIncident(ctx, tx, c.Into)
	switch {
	case errors.Is(err, ErrNoIncident):
		return &InvalidError{"into", fmt.Sprintf("names incident %d, which does not exist", c.Into)}
	case err != nil:
		return err
	case into.State == IncidentResolved:
		return &InvalidError{"into", fmt.Sprintf("names incident %d, which is resolved", c.Into)}
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock("+rollLock+")"); err != nil { // what is counted meanwhile would be kept for the merged one
		return err
	}
	for _, sql := range []string{
		`update fenceline.incidents m set merged_into = $2 where m.merged_into = $1`,
		`with touching as (select $2::bigint as incident_id, k.job_id from fenceline.incident_jobs k where k.incident_id = $1), ` + touchesSQL + ` select`,
		`update fenceline.incidents i set revision = i.revision + 1, changed_at = clock_timestamp(), found_at = greatest(i.found_at, m.found_at),
		   opened_at = least(i.opened_at, m.opened_at), jobs_since = least(i.jobs_since, m.jobs_since)
		 from fenceline.incidents m where i.id = $2 and m.id = $1`,
	} {
		if _, err := tx.Exec(ctx, sql, i.ID, into.ID); err != nil {
			return fmt.Errorf("merge incident %d into %d: %w", i.ID, into.ID, err)
		}
	}
	into.Revision++
	return enter(ctx, tx, into, IncidentJoined, c.Actor, joinWords(fmt.Sprintf("incident %d", i.ID), c.Reason), 0)
}

// follow takes what was found of a merged incident to the one that goes on: it
// keeps that from being quiet. A resolved one is returned with the time at which
// the merged one was found last.
func follow(ctx context.Context, tx pgx.Tx, was Incident, f Sighting) (Incident, error) {
	into, err := lockIncident(ctx, tx, was.MergedInto)
	if err != nil {
		return into, err
	}
	if err := refresh(ctx, tx, was.ID, f); err != nil || into.State == IncidentResolved {
		into.lingersAt = was.lingersAt
		return into, err
	}
	_, err = tx.Exec(ctx, "update fenceline.incidents set found_at = clock_timestamp() where id = $1", into.ID)
	return into, err
}
