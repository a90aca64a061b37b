package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The channels on which the database notifies, after a commit. Neither carries
// anything of a job.
const (
	ChannelTransitions = "fenceline_transitions" // payload: the transaction that wrote transitions, decimal
	ChannelWork        = "fenceline_work"        // no payload: some job became available
)

// Batch is a reading of the log.
type Batch struct {
	Transitions []Transition // by id: the order of each job, and of nothing across jobs
	Horizon     uint64       // every transaction below it is visible to this reading
	More        bool         // the limit cut the reading short
}

// Cursor is how far a reader knows one job.
type Cursor struct {
	JobID int64
	After int64 // id of the last transition it has; 0 for none
}

const maxFollow = 100000

// TransitionsOf reads what these committed transactions wrote of these jobs;
// jobs nil means every job. It does not wait for the horizon: a notification
// comes after its commit.
func (s *Store) TransitionsOf(ctx context.Context, xids []uint64, jobs []int64) (Batch, error) {
	return s.follow(ctx, maxFollow, `fenceline.transitions t where t.xid = any ($1::text[]::xid8[]) and ($2::bigint[] is null or t.job_id = any ($2))`, decimals(xids), jobs)
}

// TransitionsAfter reads up to limit transitions that these readers miss.
func (s *Store) TransitionsAfter(ctx context.Context, cursors []Cursor, limit int) (Batch, error) {
	jobs, after := make([]int64, len(cursors)), make([]int64, len(cursors))
	for i, c := range cursors {
		jobs[i], after[i] = c.JobID, c.After
	}
	// A range of the job's index for each cursor: what a job has behind its
	// cursor is read, however long its history before it is.
	return s.follow(ctx, limit, fmt.Sprintf(`(
		  select job_id, min(after) as after
		  from unnest($1::bigint[], $2::bigint[]) as u (job_id, after) group by job_id
		) c cross join lateral (
		  select * from fenceline.transitions t
		  where t.job_id = c.job_id and t.id > c.after order by t.id limit %d
		) t`, limit+1), jobs, after)
}

// TransitionsSince reads up to limit transitions of these jobs that the
// transaction xid or a later one wrote: what a reader misses whose position is
// xid. It may repeat what the reader has, and misses nothing.
func (s *Store) TransitionsSince(ctx context.Context, jobs []int64, xid uint64, limit int) (Batch, error) {
	// Compared by a function, so that no index leads from an old position
	// through everything since: the jobs' own index does.
	return s.follow(ctx, limit, `fenceline.transitions t where t.job_id = any ($1) and xid8cmp(t.xid, $2::text::xid8) >= 0`, jobs, fmt.Sprint(xid))
}

func (s *Store) follow(ctx context.Context, limit int, from string, args ...any) (Batch, error) {
	rows, err := s.pool.Query(ctx, fmt.Sprintf(`
		with read as materialized (
		  select %s from %s order by t.id limit %d
		)
		select pg_snapshot_xmin(pg_current_snapshot())::text::bigint, r.*
		from (select) one left join read r on true`, transitionColumns, from, limit+1), args...)
	if err != nil {
		return Batch{}, fmt.Errorf("read the log: %w", err)
	}
	return collectBatch(rows, limit)
}

func collectBatch(rows pgx.Rows, limit int) (Batch, error) {
	defer rows.Close()
	var b Batch
	for rows.Next() {
		if rows.RawValues()[1] == nil {
			if err := rows.Scan(append([]any{&b.Horizon}, make([]any, len(rows.RawValues())-1)...)...); err != nil {
				return Batch{}, fmt.Errorf("read the log: %w", err)
			}
			continue
		}
		t, err := scanTransition(afterFirst{rows, &b.Horizon})
		if err != nil {
			return Batch{}, fmt.Errorf("read the log: %w", err)
		}
		b.Transitions = append(b.Transitions, t)
	}
	if len(b.Transitions) > limit {
		b.Transitions, b.More = b.Transitions[:limit], true
	}
	return b, rows.Err()
}

// afterFirst scans a row whose first column is the horizon.
type afterFirst struct {
	pgx.Rows
	horizon *uint64
}

func (r afterFirst) Scan(dest ...any) error {
	return r.Rows.Scan(append([]any{r.horizon}, dest...)...)
}

func decimals(xids []uint64) []string {
	out := make([]string, len(xids))
	for i, x := range xids {
		out[i] = fmt.Sprint(x)
	}
	return out
}

// Horizon returns the oldest transaction that may still be writing: everything
// below it is committed or gone.
func (s *Store) Horizon(ctx context.Context) (uint64, error) {
	var horizon uint64
	err := s.pool.QueryRow(ctx, `select pg_snapshot_xmin(pg_current_snapshot())::text::bigint`).Scan(&horizon)
	return horizon, err
}

// Notify sends one notification in a transaction of its own: for a listener
// that checks whether it still hears.
func (s *Store) Notify(ctx context.Context, channel, payload string) error {
	_, err := s.pool.Exec(ctx, "select pg_notify($1, $2)", channel, payload)
	return err
}
