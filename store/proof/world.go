package proof

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The world moves rows, never the clock. The log is moved with the row, under
// the same lock, so that it stays true.
const (
	lockSQL = `select from fenceline.jobs where id = $1 for no key update`

	lapseLogSQL = `
update fenceline.transitions t
set lease_until = j.claimed_at, at = least(t.at, j.claimed_at - interval '1 millisecond')
from fenceline.jobs j
where j.id = $1 and j.state = 'running'
  and t.job_id = $1 and t.attempt_id = j.attempt_id and t.type in ('claimed', 'renewed')`

	lapseSQL = `update fenceline.jobs set lease_until = claimed_at where id = $1 and state = 'running'`

	comeDueSQL = `update fenceline.jobs set run_at = created_at where id = $1 and state in ('scheduled', 'retryable')`

	comeDueLogSQL = `
update fenceline.transitions t
set run_at = j.run_at
from fenceline.jobs j
where j.id = $1 and j.state in ('scheduled', 'retryable')
  and t.job_id = $1 and t.id = (select max(l.id) from fenceline.transitions l where l.job_id = $1 and l.run_at is not null)`

	rowSQL = `select j.state::text, j.revision, j.generation, j.attempts_used, j.max_attempts,
  j.attempt_id, coalesce(j.attempt_end::text, ''), j.result_attempt_id, coalesce(j.result_generation, 0),
  coalesce(j.args_version, 1), j.erased_at is not null`

	holdSQL = rowSQL + `, j.state = 'running' and j.lease_until > clock_timestamp()
from fenceline.jobs j where j.id = $1`

	lookSQL = rowSQL + `, coalesce(j.result #>> '{}', ''),
  (select count(*) from fenceline.jobs c where c.parent_id = j.id),
  (select count(*) from fenceline.transitions t where t.job_id = j.id),
  (select count(*) from fenceline.transitions t where t.job_id = j.id and t.type = 'rejected'),
  (select count(*) from fenceline.audit a where a.job_id = j.id),
  (select count(*) from fenceline.attempt_errors e where e.job_id = j.id),
  (select count(*) from fenceline.args_versions v where v.job_id = j.id)
from fenceline.jobs j where j.id = $1`
)

// locked begins a transaction that holds the job's row. Its statements travel
// together, so that it is as short as they are.
func (s *subject) locked() *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(lockSQL, s.id)
	return b
}

func (s *subject) send(ctx context.Context, b *pgx.Batch) error {
	return s.owner.SendBatch(ctx, b).Close()
}

// lapse lets the running attempt's deadline be the moment of its claim.
func (s *subject) lapse(ctx context.Context) Answer {
	var n int
	b := s.locked()
	b.Queue(lapseLogSQL, s.id)
	b.Queue(lapseSQL, s.id).Exec(counts(&n))
	b.Queue("commit")
	return counted(n, s.send(ctx, b))
}

// comeDue lets the due time of a waiting job be the moment of its enqueue.
func (s *subject) comeDue(ctx context.Context) Answer {
	var n int
	b := s.locked()
	b.Queue(comeDueSQL, s.id).Exec(counts(&n))
	b.Queue(comeDueLogSQL, s.id)
	b.Queue("commit")
	return counted(n, s.send(ctx, b))
}

func counts(n *int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*n = int(tag.RowsAffected())
		return nil
	}
}

// hold keeps the row for a while. What it sees at the end, still under its
// lock, is an observation that no later answer may contradict.
func (s *subject) hold(ctx context.Context, c Call, wait time.Duration) Answer {
	var a Answer
	b := s.locked()
	if c.Update {
		b.Queue("update fenceline.jobs set priority = priority where id = $1", s.id)
	}
	b.Queue("select pg_sleep($1)", wait.Seconds())
	b.Queue(holdSQL, s.id).QueryRow(func(row pgx.Row) error { return s.scan(row, &a.Row, &a.Alive) })
	end := "rollback"
	if c.Commit {
		end = "commit"
	}
	b.Queue(end)
	if err := s.send(ctx, b); err != nil {
		return Answer{Err: err.Error()}
	}
	return a
}

// look is one statement, and so one snapshot.
func (s *subject) look(ctx context.Context) Answer {
	var a Answer
	l := &a.Left
	row := s.owner.QueryRow(ctx, lookSQL, s.id)
	if err := s.scan(row, &a.Row, &l.Result, &l.FollowUps, &l.Log, &l.Refused, &l.Audited, &l.Errors, &l.Kept); err != nil {
		return Answer{Err: err.Error()}
	}
	return a
}

func (s *subject) scan(row pgx.Row, r *Row, more ...any) error {
	var attempt, result *uuid.UUID
	err := row.Scan(append([]any{&r.State, &r.Revision, &r.Generation, &r.Used, &r.Budget,
		&attempt, &r.End, &result, &r.ResultBy.Generation, &r.Args, &r.Erased}, more...)...)
	if attempt != nil {
		r.Attempt = s.number(*attempt)
	}
	if result != nil {
		r.ResultBy.Attempt = s.number(*result)
	}
	return err
}
