package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Figures are what monitoring asks of the whole database. What they cost is
// bounded, whatever the number of jobs.
type Figures struct {
	States map[State]Count
	// Oldest is, for each queue with available jobs, how long the one of them
	// that has waited longest at the head of its priority has been due. At most
	// 200 pairs of queue and priority are looked at, in the order of their names.
	Oldest map[string]time.Duration
	// Verified is how far the log was checked by itself, without what was found;
	// Now is the database's clock at the time.
	Verified Verification
	Now      time.Time
}

const oldestPairs = 200

// One row for each queue and priority: the index is entered anew behind each
// pair, so that what is read does not grow with the jobs that wait.
const oldestSQL = `
with recursive head as (
  (select j.queue, j.priority, j.run_at, 1 as n
   from fenceline.jobs j
   where j.state = 'available'
   order by j.queue, j.priority, j.run_at, j.id
   limit 1)
  union all
  select next.queue, next.priority, next.run_at, head.n + 1
  from head
  cross join lateral (
    select j.queue, j.priority, j.run_at
    from fenceline.jobs j
    where j.state = 'available' and (j.queue, j.priority) > (head.queue, head.priority)
    order by j.queue, j.priority, j.run_at, j.id
    limit 1) next
  where head.n < $1
)
select h.queue, greatest(0, extract(epoch from clock_timestamp() - min(h.run_at)))::float8
from head h
group by h.queue`

// The states are counted by an index, each up to the bound.
const figuresSQL = `
select s.state::text, c.n
from unnest(enum_range(null::fenceline.job_state)) as s (state)
cross join lateral (
  select count(*) as n
  from (select from fenceline.jobs j where j.state = s.state limit $1) known
) c`

// Figures reads them, in three statements.
func (s *Store) Figures(ctx context.Context) (Figures, error) {
	f := Figures{States: map[State]Count{}, Oldest: map[string]time.Duration{}}
	var state, queue string
	var n int64
	var due float64
	rows, err := s.pool.Query(ctx, figuresSQL, countBound+1)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { f.States[State(state)] = capped(n); return nil })
	}
	if err != nil {
		return Figures{}, fmt.Errorf("count the states: %w", err)
	}
	rows, err = s.pool.Query(ctx, oldestSQL, oldestPairs)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&queue, &due}, func() error {
			f.Oldest[queue] = time.Duration(due * float64(time.Second))
			return nil
		})
	}
	if err != nil {
		return Figures{}, fmt.Errorf("look for the oldest available jobs: %w", err)
	}
	if err := f.Verified.readCounts(ctx, s.pool); err != nil {
		return Figures{}, fmt.Errorf("read how far the log is checked: %w", err)
	}
	f.Now = f.Verified.now
	return f, nil
}
