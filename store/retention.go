package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The least that can be kept. Home looks back 15 minutes, and an attempt's
// repeat is recognised by the log.
const (
	MinKeepJobs        = time.Hour
	MinKeepTransitions = 24 * time.Hour
)

// How much one step of the retention looks at.
const (
	removeLook   = 1000 // jobs, of which the old ones are removed
	baselineLook = 1000 // jobs, for those with transitions that are to be removed
	baselineMost = 200  // of those, how many get their baselines
	dropMost     = 5000 // transitions outside partitions, and writes of unknown jobs
)

// RemoveJobs takes one step of removing jobs that finished longer ago than
// keep, with the errors and outputs of their attempts: it looks at the next
// thousand in the order of their ids. More says that another step is due at
// once; otherwise all have been looked at, or another process is at it, and a
// minute's pause costs nothing. The audit stays, and so does the job's log until
// it is old itself. A follow-up goes after its parent. What is claimed, or was
// requeued meanwhile, is left alone; writes of attempts of a job that is gone
// are refused as unknown_job.
func (s *Store) RemoveJobs(ctx context.Context, keep time.Duration) (removed int, more bool, err error) {
	if keep < MinKeepJobs {
		return 0, false, &InvalidError{"keep", fmt.Sprintf("must be at least %s", MinKeepJobs)}
	}
	err = s.pool.QueryRow(ctx, "select removed, more from fenceline.remove_jobs($1, $2)", keep, removeLook).Scan(&removed, &more)
	if err != nil {
		return 0, false, fmt.Errorf("remove old jobs: %w", err)
	}
	return removed, more, nil
}

// ShortenLog takes one step of removing the log's days that ended longer ago
// than keep. First each job that is still there gets a baseline for what will
// be removed of it, then whole partitions are dropped. More says that another
// step is due at once; otherwise nothing is to do, or it cannot be done now,
// because another process is at it, the log is being read from end to end, or a
// transaction that may have written on one of those days is still open.
func (s *Store) ShortenLog(ctx context.Context, keep time.Duration) (more bool, err error) {
	if keep < MinKeepTransitions {
		return false, &InvalidError{"keep", fmt.Sprintf("must be at least %s", MinKeepTransitions)}
	}
	more, err = inTx(ctx, s.pool, func(tx pgx.Tx) (bool, error) { return shortenLog(ctx, tx, keep) })
	if err != nil {
		return false, fmt.Errorf("shorten the log: %w", err)
	}
	return more, nil
}

// pass is the removal of what the log holds before a midnight, as it stands.
type pass struct {
	before *time.Time
	after  *int64 // baselines are written for jobs up to it; nil for all
	alone  bool   // no transaction is open that was when the pass began
}

func shortenLog(ctx context.Context, tx pgx.Tx, keep time.Duration) (bool, error) {
	var mine bool
	err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock(hashtextextended('fenceline.retention', 0))").Scan(&mine)
	if err != nil || !mine {
		return false, err
	}
	var p pass
	err = tx.QueryRow(ctx, `select r.log_pass, r.log_after, coalesce(pg_snapshot_xmin(pg_current_snapshot()) >= r.log_xid, false)
		from fenceline.retention r`).Scan(&p.before, &p.after, &p.alone)
	switch {
	case err != nil:
		return false, err
	case p.before == nil:
		return beginPass(ctx, tx, keep)
	case !p.alone:
		return false, nil
	case p.after != nil:
		return true, p.writeBaselines(ctx, tx)
	}
	return dropLog(ctx, tx)
}

// beginPass decides up to where the log goes now. A transition of an old day
// can still be uncommitted, in a transaction of whoever enqueues by SQL; the
// pass goes on when every transaction that is open now has ended.
func beginPass(ctx context.Context, tx pgx.Tx, keep time.Duration) (bool, error) {
	tag, err := tx.Exec(ctx, `
		update fenceline.retention r
		set log_pass = b.before, log_after = 0, log_xid = pg_current_xact_id()
		from (select fenceline.log_boundary($1) as before) b
		where b.before is not null`, keep)
	return tag.RowsAffected() > 0, err
}

// dropLog removes a part of what has its baselines. When all is gone the pass
// is over.
func dropLog(ctx context.Context, tx pgx.Tx) (bool, error) {
	var said string
	if err := tx.QueryRow(ctx, "select fenceline.drop_log($1)", dropMost).Scan(&said); err != nil {
		return false, err
	}
	switch said {
	case "more":
		return true, nil
	case "done":
		_, err := tx.Exec(ctx, "update fenceline.retention set log_pass = null, log_xid = null, log_after = null")
		return false, err
	case "busy":
		return false, nil
	}
	return false, errors.New("nothing was to be removed")
}

// gone is what is no longer here because it was old.
type gone struct {
	jobsBefore time.Time // jobs that had finished before it may be gone; zero when none is
	logBefore  time.Time // what the log held before it is gone; zero when nothing is
}

func removed(ctx context.Context, q querier) (gone, error) {
	rows, err := q.Query(ctx, "select r.jobs_before, r.log_before from fenceline.retention r where r.only_row")
	if err != nil {
		return gone{}, fmt.Errorf("read what was removed: %w", err)
	}
	return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (gone, error) {
		var jobs, log *time.Time
		err := row.Scan(&jobs, &log)
		return gone{orZero(jobs), orZero(log)}, err
	})
}
