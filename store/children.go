package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// maxChildren bounds how many follow-ups one page shows.
const maxChildren = 200

// readChildren reads the follow-ups that the job's result wrote, and which of
// them may have been delivered twice.
func (v *JobView) readChildren(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select `+jobColumns+` from fenceline.jobs j where j.parent_id = $1 order by j.id limit $2`, v.Job.ID, maxChildren)
	if err != nil {
		return fmt.Errorf("read the follow-ups of job %d: %w", v.Job.ID, err)
	}
	if v.Children, err = pgx.CollectRows(rows, scanJob); err != nil {
		return err
	}
	for _, c := range v.Children {
		if c.Generation < 2 {
			continue
		}
		twice, err := maybeTwice(ctx, tx, c.ID)
		if err != nil {
			return err
		}
		if twice {
			v.Twice = append(v.Twice, c.ID)
		}
	}
	return nil
}

// maybeTwice folds what of a job's log tells attempts apart: where they began
// and how they ended.
func maybeTwice(ctx context.Context, tx pgx.Tx, jobID int64) (bool, error) {
	rows, err := tx.Query(ctx, `select `+transitionColumns+` from fenceline.transitions t
		where t.job_id = $1 and t.type not in ('renewed', 'rejected') order by t.id limit $2`, jobID, maxViewTransitions)
	if err != nil {
		return false, fmt.Errorf("read the transitions of job %d: %w", jobID, err)
	}
	log, err := pgx.CollectRows(rows, scanTransition)
	if err != nil {
		return false, err
	}
	h := Fold(log)
	_, again := h.MaybeTwice()
	return again != 0, nil
}
