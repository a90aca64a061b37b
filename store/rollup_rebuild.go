package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Rebuilt is what a rebuild of the counts of the log did.
type Rebuilt struct {
	Since   time.Time // by the database's clock; counts of what was before it are kept; zero when the log is whole
	Removed int64     // transitions that the counts told of, which were thrown away
	Counted int64     // transitions that the counts tell of after it, by whichever process counted them
}

// RebuildRollups throws the counts of everything that the log still holds away;
// the next calls of [Store.Roll] count it anew. What the log held before that is
// kept as it was counted. It waits for a step that is under way.
func (s *Store) RebuildRollups(ctx context.Context) (Rebuilt, error) {
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (Rebuilt, error) { return throwCountsAway(ctx, tx) })
	if err != nil {
		return Rebuilt{}, fmt.Errorf("throw the counts of the log away: %w", err)
	}
	return out, nil
}

func throwCountsAway(ctx context.Context, tx pgx.Tx) (out Rebuilt, err error) {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock("+rollLock+")"); err != nil {
		return Rebuilt{}, err
	}
	var since *time.Time
	if err := tx.QueryRow(ctx, `update fenceline.rollup_position set xid = '0', id = 0, at = null,
		   since = coalesce((select r.log_before from fenceline.retention r where r.only_row), '-infinity') where only_row
		 returning nullif(since, '-infinity')`).Scan(&since); err != nil {
		return Rebuilt{}, err
	}
	out.Since = orZero(since)
	if err := tx.QueryRow(ctx, `with gone as (
		   delete from fenceline.rollups r using fenceline.rollup_position p where r.minute >= p.since returning r.n)
		 select coalesce(sum(n), 0)::bigint from gone`).Scan(&out.Removed); err != nil {
		return Rebuilt{}, err
	}
	_, err = tx.Exec(ctx, `delete from fenceline.rollup_errors r using fenceline.rollup_position p where r.minute >= p.since`)
	return out, err
}

// rebuildPause is how long a rebuild leaves the log to a process that counts it.
const rebuildPause = 50 * time.Millisecond

// RecountRollups throws the counts away as [Store.RebuildRollups] does and counts
// the log anew up to the oldest transaction that may still write. Other processes
// may help with it. After an error the rest is counted by whichever process
// counts next: no count is lost and none is made twice.
func (s *Store) RecountRollups(ctx context.Context) (Rebuilt, error) {
	out, err := s.RebuildRollups(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	for {
		step, err := s.Roll(ctx)
		if err != nil {
			return out, err
		}
		if step.Busy {
			select {
			case <-ctx.Done():
				return out, fmt.Errorf("count the log: %w", ctx.Err())
			case <-time.After(rebuildPause):
			}
		} else if !step.More {
			break
		}
	}
	err = s.pool.QueryRow(ctx, `select coalesce(sum(r.n), 0)::bigint from fenceline.rollups r, fenceline.rollup_position p where r.minute >= p.since`).Scan(&out.Counted)
	if err != nil {
		return out, fmt.Errorf("read the counts of the log: %w", err)
	}
	return out, nil
}
