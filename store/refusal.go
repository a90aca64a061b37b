package store

import (
	"context"
	"fmt"
)

// Refusal is what somebody known asked for and may not do. Nothing was changed.
type Refusal struct {
	Actor   string
	Action  string // what was asked for, as "terminate"; "look" for a page
	Why     string // what kept them from it, as "role"; the entry's outcome
	JobID   int64  // 0 for what is about no job
	Route   string // method and route, with the names of its parameters
	Address string // from where
	Times   int    // how often within this minute so far
}

// RecordRefusal keeps in the audit that somebody was refused.
func (s *Store) RecordRefusal(ctx context.Context, r Refusal) error {
	detail := map[string]any{"route": r.Route, "address": r.Address, "times": r.Times}
	_, err := s.pool.Exec(ctx, `insert into fenceline.audit (actor, action, outcome, job_id, detail) values ($1, $2, $3, nullif($4::bigint, 0), $5)`,
		r.Actor, r.Action, r.Why, r.JobID, detail)
	if err != nil {
		return fmt.Errorf("record a refusal in the audit: %w", err)
	}
	return nil
}
