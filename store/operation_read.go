package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	operationSample = 12  // jobs of a snapshot that its page shows
	maxOperations   = 200 // of a list
	// MaxSkips is the longest page of jobs that were left alone.
	MaxSkips = 1000
)

// Operation reads one. [ErrNoOperation] when there is no such operation.
func (s *Store) Operation(ctx context.Context, id int64) (Operation, error) {
	rows, err := s.pool.Query(ctx, `select `+operationColumns+` from fenceline.operations o where o.id = $1`, id)
	return oneOperation(rows, err)
}

// Operations returns the newest 200 operations, newest first, and the database's
// clock. Previews that nobody confirmed are left out.
func (s *Store) Operations(ctx context.Context) (all []Operation, now time.Time, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select `+operationColumns+` from fenceline.operations o where o.state <> 'preview' order by o.id desc limit $1`, maxOperations)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanOperation)
		return err
	})
	if err != nil {
		return nil, now, fmt.Errorf("list operations: %w", err)
	}
	return all, now.UTC(), nil
}

// OperationView is what the page of one operation shows.
type OperationView struct {
	Now       time.Time
	Operation Operation
	Sample    []Job              // the first jobs of the snapshot, as they are now
	Changed   map[int64]bool     // of the sample, those that changed since the snapshot and were not changed by it
	Skips     []Skip             // the first of the jobs that were left alone
	SkippedBy map[Conflict]int64 // how many were, by why
	Events    []OperationEvent   // what operators did with it and what became of it, newest first
}

// Skip is a job that an operation left alone.
type Skip struct {
	JobID    int64
	At       time.Time
	Seen     int64    // the revision of the snapshot
	Revision int64    // when it was left alone; 0 for a job that is gone
	State    State    // likewise; empty for a job that is gone
	Why      Conflict // [ConflictChanged], [ConflictAlreadyWaiting], [ConflictAlreadyEnded], [ConflictGone] or [ConflictBusy]
}

// OperationEvent is an entry of the audit about an [Operation].
type OperationEvent struct {
	At      time.Time
	Actor   string
	Action  string // confirm, pause, resume, cancel, halt or finish
	Outcome string // "done", or why it was refused
	Reason  string
	Pace    int
	Halt    int
}

// OperationView reads an operation's page. [ErrNoOperation] when there is no
// such operation.
func (s *Store) OperationView(ctx context.Context, id int64) (OperationView, error) {
	v := OperationView{Operation: Operation{ID: id}, Changed: map[int64]bool{}, SkippedBy: map[Conflict]int64{}}
	err := s.snapshot(ctx, v.read, v.readSample, v.readSkips, v.readEvents)
	return v, err
}

func (v *OperationView) read(ctx context.Context, tx pgx.Tx) error {
	if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&v.Now); err != nil {
		return err
	}
	v.Now = v.Now.UTC()
	rows, err := tx.Query(ctx, `select `+operationColumns+` from fenceline.operations o where o.id = $1`, v.Operation.ID)
	v.Operation, err = oneOperation(rows, err)
	return err
}

func (v *OperationView) readSample(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select `+listColumns+`, u.seen
		from fenceline.operation_parts p
		cross join lateral unnest(p.jobs[1:$2], p.revisions[1:$2]) with ordinality as u (id, seen, i)
		join fenceline.jobs j on j.id = u.id
		where p.operation_id = $1 and p.n = 0
		order by u.i`, v.Operation.ID, operationSample)
	if err != nil {
		return err
	}
	v.Sample, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Job, error) {
		var seen int64
		j, err := scanJob(before{row, []any{&seen}})
		v.Changed[j.ID] = j.Revision != seen
		return j, err
	})
	return err
}

func (v *OperationView) readSkips(ctx context.Context, tx pgx.Tx) (err error) {
	if v.Operation.Skipped() == 0 {
		return nil
	}
	if v.Skips, err = skips(ctx, tx, v.Operation.ID, 0, 100); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `select s.why, count(*) from fenceline.operation_skips s where s.operation_id = $1 group by 1`, v.Operation.ID)
	if err != nil {
		return err
	}
	var why Conflict
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&why, &n}, func() error { v.SkippedBy[why] = n; return nil })
	return err
}

// OperationSkips returns up to limit of the jobs that an operation left alone,
// in the order of their ids, with ids above after.
func (s *Store) OperationSkips(ctx context.Context, id, after int64, limit int) ([]Skip, error) {
	return skips(ctx, s.pool, id, after, min(limit, MaxSkips))
}

func skips(ctx context.Context, q querier, id, after int64, limit int) ([]Skip, error) {
	rows, err := q.Query(ctx, `
		select s.job_id, s.at, s.seen, coalesce(s.revision, 0), coalesce(s.state::text, ''), s.why
		from fenceline.operation_skips s where s.operation_id = $1 and s.job_id > $2 order by s.job_id limit $3`, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read what operation %d left alone: %w", id, err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Skip, err error) {
		err = row.Scan(&s.JobID, &s.At, &s.Seen, &s.Revision, &s.State, &s.Why)
		s.At = s.At.UTC()
		return s, err
	})
}

func (v *OperationView) readEvents(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select a.at, a.actor, a.action, a.outcome, coalesce(a.reason, ''),
		       coalesce((a.detail ->> 'pace')::bigint, 0), coalesce((a.detail ->> 'halt_above')::bigint, 0)
		from fenceline.audit a
		where a.detail ->> 'operation' = $1 and a.detail ? 'operation' and a.job_id is null
		order by a.id desc limit 100`, fmt.Sprint(v.Operation.ID))
	if err != nil {
		return err
	}
	v.Events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e OperationEvent, err error) {
		err = row.Scan(&e.At, &e.Actor, &e.Action, &e.Outcome, &e.Reason, &e.Pace, &e.Halt)
		e.At = e.At.UTC()
		return e, err
	})
	return err
}
