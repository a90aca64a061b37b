package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Report is what [Store.Verify] found.
type Report struct {
	OK          bool        `json:"ok"`
	Jobs        int64       `json:"jobs"`
	Transitions int64       `json:"transitions"`
	Refused     int64       `json:"refused"` // refused writes on record
	Violations  []Violation `json:"violations"`
	Took        string      `json:"took"`

	Background Verification `json:"-"` // how far the log was checked by itself, while jobs ran

	// What the report does not cover, because it was old and has been removed.
	JobsBefore time.Time `json:"jobs_removed_before,omitzero"` // jobs that had finished before it
	LogBefore  time.Time `json:"log_removed_before,omitzero"`  // transitions from before it
}

// maxViolations is how many are listed; a broken log has them everywhere.
const maxViolations = 1000

// Verify holds every job's row against its transitions, and the transitions
// against the invariants I1 to I11, in one snapshot. It reads everything once,
// in the order of the jobs, and keeps one job in memory at a time. A job whose
// log was shortened is held against its baseline and what followed; a log whose
// job was removed must end the job, early enough.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	start := time.Now()
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// It holds no rows, so a slow machine may take its time between two readings.
	_, err = tx.Exec(ctx, "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local enable_seqscan = on")
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	v := &verifier{}
	old, err := removed(ctx, tx)
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	v.JobsBefore, v.LogBefore = old.jobsBefore, old.logBefore
	for _, pass := range []func(context.Context, pgx.Tx) error{v.replay, v.checkResidue, v.checkErased, v.checkDetails, v.Background.read} {
		if err := pass(ctx, tx); err != nil {
			return Report{}, fmt.Errorf("verify: %w", err)
		}
	}
	v.OK, v.Took = len(v.Violations) == 0, time.Since(start).Round(time.Millisecond).String()
	if v.Violations == nil {
		v.Violations = []Violation{}
	}
	return v.Report, nil
}

type verifier struct {
	Report
}

func (v *verifier) add(found ...Violation) {
	room := max(0, maxViolations-len(v.Violations))
	v.Violations = append(v.Violations, found[:min(room, len(found))]...)
}
