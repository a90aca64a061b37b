package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/redact"
)

// Clock returns the database's time, the only one by which anything here is
// decided.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, "select clock_timestamp()").Scan(&now)
	return now.UTC(), err
}

// Job returns one job's row. [ErrNotFound] when there is no such job.
func (s *Store) Job(ctx context.Context, id int64) (Job, error) {
	return job(ctx, s.pool, id)
}

func job(ctx context.Context, q querier, id int64) (Job, error) {
	rows, err := q.Query(ctx, `select `+jobColumns+` from fenceline.jobs j where j.id = $1`, id)
	if err != nil {
		return Job{}, fmt.Errorf("read a job: %w", err)
	}
	j, err := pgx.CollectExactlyOneRow(rows, scanJob)
	if errors.Is(err, pgx.ErrNoRows) {
		return Job{}, ErrNotFound
	}
	return j, err
}

// Transitions returns up to limit of a job's transitions with ids above after,
// in the order in which they happened.
func (s *Store) Transitions(ctx context.Context, jobID, after int64, limit int) ([]Transition, error) {
	return transitions(ctx, s.pool, jobID, after, limit)
}

func transitions(ctx context.Context, q querier, jobID, after int64, limit int) ([]Transition, error) {
	rows, err := q.Query(ctx, `select `+transitionColumns+`
		from fenceline.transitions t where t.job_id = $1 and t.id > $2 order by t.id limit $3`, jobID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the transitions of job %d: %w", jobID, err)
	}
	return collectTransitions(rows)
}

// JobView is everything that a job's page shows, read in one snapshot.
type JobView struct {
	Now         time.Time // the database's clock
	Job         Job
	Trace       string           // the enqueuer's traceparent; empty when there is none
	Transitions []Transition     // the newest of them, in order
	History     History          // of all of them
	Errors      []AttemptFailure // oldest first, as who may reveal payloads sees them
	Kept        []AttemptFailure // the same, as the others do
	Children    []Job            // follow-ups that the job's result wrote
	Twice       []int64          // the ids of those that may have been delivered twice; see [History.MaybeTwice]
	Masked      Payload          // as who may not reveal it sees it
	Versions    []ArgsVersion    // of the args, beside the present ones; see [Store.ArgsVersions]
	Horizon     uint64           // every transaction below is in this snapshot
}

// maxViewTransitions bounds what one page shows; a job with more shows its newest.
const maxViewTransitions = 20000

// beginView begins a snapshot. It locks nothing, and the time between its
// statements is the folding of a log: the bound that keeps a stopped process from
// holding rows need not be as short.
const beginView = beginSnapshot + `; set local idle_in_transaction_session_timeout = '30s'`

// JobView reads a job's page. [ErrNotFound] when there is no such job.
func (s *Store) JobView(ctx context.Context, id int64) (JobView, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginView})
	if err != nil {
		return JobView{}, fmt.Errorf("read job %d: %w", id, err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	v := JobView{}
	if v.Job, err = job(ctx, tx, id); err != nil {
		return JobView{}, err
	}
	if err = tx.QueryRow(ctx, `select coalesce(j.trace, '') from fenceline.jobs j where j.id = $1`, id).Scan(&v.Trace); err != nil {
		return JobView{}, fmt.Errorf("read job %d: %w", id, err)
	}
	if err = v.readLog(ctx, tx); err != nil {
		return JobView{}, err
	}
	all, err := failures(ctx, tx, id)
	if err != nil {
		return JobView{}, err
	}
	if err = v.readChildren(ctx, tx); err != nil {
		return JobView{}, err
	}
	kind, full, err := payload(ctx, tx, id)
	if err != nil {
		return JobView{}, err
	}
	if v.Job.ArgsVersion > 1 {
		if v.Versions, err = argsVersions(ctx, tx, id); err != nil {
			return JobView{}, err
		}
	}
	v.Masked = s.shown(kind, full, redact.Masked)
	v.Errors, v.Kept = s.failuresFor(kind, full, all, redact.Revealed), s.failuresFor(kind, full, all, redact.Masked)
	err = tx.QueryRow(ctx, `select clock_timestamp(), pg_snapshot_xmin(pg_current_snapshot())::text::bigint`).Scan(&v.Now, &v.Horizon)
	v.Now = v.Now.UTC()
	return v, err
}

// readLog folds the whole log, so that the history is true however long the job
// has lived, and keeps the newest part of it to be shown.
func (v *JobView) readLog(ctx context.Context, tx pgx.Tx) error {
	for {
		page, err := transitions(ctx, tx, v.Job.ID, v.History.Last, maxViewTransitions)
		if err != nil {
			return err
		}
		for _, t := range page {
			v.History.Add(t)
		}
		if v.Transitions == nil {
			v.Transitions = page
		} else {
			v.Transitions = append(v.Transitions, page...)
		}
		if surplus := len(v.Transitions) - maxViewTransitions; surplus > 0 {
			v.Transitions = slices.Clone(v.Transitions[surplus:])
		}
		if len(page) < maxViewTransitions {
			return nil
		}
	}
}

// Failures returns the errors and outputs of a job's attempts as they are
// stored, oldest first. Nothing may show them; see [JobView].
func (s *Store) Failures(ctx context.Context, jobID int64) ([]AttemptFailure, error) {
	return failures(ctx, s.pool, jobID)
}

func failures(ctx context.Context, q querier, jobID int64) ([]AttemptFailure, error) {
	rows, err := q.Query(ctx, `
		select coalesce(e.attempt_id, o.attempt_id), coalesce(e.generation, o.generation), coalesce(e.at, o.at),
		       coalesce(e.class, ''), coalesce(e.message, ''), coalesce(e.trace, ''), coalesce(e.fingerprint, ''),
		       coalesce(o.output, '')
		from (select * from fenceline.attempt_errors where job_id = $1) e
		full join (select * from fenceline.attempt_outputs where job_id = $1) o using (attempt_id)
		order by 2
		limit 1000`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the errors of job %d: %w", jobID, err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (f AttemptFailure, err error) {
		err = row.Scan(&f.AttemptID, &f.Generation, &f.At, &f.Class, &f.Message, &f.Trace, &f.Fingerprint, &f.Output)
		f.At = f.At.UTC()
		return f, err
	})
}
