package store

import (
	"context"
	"fmt"
	"time"
)

// The moment of the statement, unlike clock_timestamp(), is a bound of the
// index: the jobs that are not due yet are not looked at.
const promoteSQL = `
with due as materialized (
  select j.id, j.kind, j.queue, j.state, j.revision, j.run_at, j.attempts_used, j.max_attempts
  from fenceline.jobs j
  where j.state in ('scheduled', 'retryable')
    and j.run_at <= statement_timestamp()
  order by j.run_at
  limit $1
  for no key update skip locked
), clock as materialized (
  select clock_timestamp() as at, count(*) as rows from due
), changed as (
  update fenceline.jobs j
  set state = 'available', revision = d.revision + 1
  from due d
  where j.id = d.id
), logged as (
  insert into fenceline.transitions
    (job_id, at, revision, run_at, type, from_state, to_state, attempts_used, max_attempts, kind, queue, actor)
  select d.id, c.at, d.revision + 1, d.run_at, 'promoted', d.state, 'available', d.attempts_used, d.max_attempts,
         d.kind, d.queue, 'sweeper'
  from due d
  cross join clock c
)
select d.id, ` + notified + `, ` + workNotified + ` from due d`

// Promote makes up to limit jobs available whose due time has come. Any number
// of processes may call it at once. It returns how many it promoted.
func (s *Store) Promote(ctx context.Context, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, promoteSQL, planned(limit, limit)...)
	if err != nil {
		return 0, fmt.Errorf("promote: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// NextDue tells how long it is, on the database's clock, until the next
// scheduled or retryable job is due. It is zero or less when one is due now,
// and false when none waits.
func (s *Store) NextDue(ctx context.Context) (time.Duration, bool, error) {
	var wait *float64
	err := s.pool.QueryRow(ctx, `
		select extract(epoch from min(j.run_at) - clock_timestamp())::float8
		from fenceline.jobs j where j.state in ('scheduled', 'retryable')`).Scan(&wait)
	if err != nil || wait == nil {
		return 0, false, err
	}
	return time.Duration(*wait * float64(time.Second)), true, nil
}
