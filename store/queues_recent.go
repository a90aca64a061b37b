package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// recent takes what happened from the counts of the log, in whole minutes.
func (r *queueReading) recent(ctx context.Context, tx pgx.Tx) error {
	var m Minutes
	if err := m.read(ctx, tx, RecentWindow); err != nil {
		return err
	}
	r.out.Now, r.out.Since, r.out.Cut = m.Now, m.From, m.Cut
	r.count(m, RecentWindow)
	return nil
}

// count adds what happened in the window, and in the whole of the minute in which
// it begins.
func (r *queueReading) count(m Minutes, window time.Duration) {
	since := m.Now.Add(-window)
	for _, row := range m.Rows {
		if row.At.Before(since.Truncate(time.Minute)) || r.only != "" && r.only != row.Queue {
			continue
		}
		r.queue(row.Queue).Recent.minute(row, since)
		r.kind(row.Kind).Recent.minute(row, since)
	}
}

// minute adds one minute's count.
func (r *Recent) minute(m Minute, since time.Time) {
	r.add(m)
	if m.Type == TypeCompleted {
		if r.Series == nil {
			r.Series = make([]int64, RecentSteps)
		}
		r.Series[min(RecentSteps-1, max(0, int(m.At.Sub(since)/time.Minute)))] += m.N
	}
}

// PerMinute is how many results were stored in a minute, over the time that the
// figures reach back.
func (r Recent) PerMinute(since, now time.Time) float64 {
	minutes := now.Sub(since).Minutes()
	if minutes <= 0 {
		return 0
	}
	return float64(r.Completed) / minutes
}

// startsSQL looks the newest claims up in their jobs: as long as the generation
// is the same, the row knows when that claim was and when it was due.
const startsSQL = `
with newest as materialized (
  select t.job_id, t.generation, t.at from (
    select t.job_id, t.generation, t.type, t.at
    from fenceline.transitions t
    order by t.xid desc, t.id desc
    limit $1
  ) t
  where t.type = 'claimed' and t.at > now() - $2::interval
  limit $3
)
select j.queue, j.kind, grouping(j.kind) = 1, count(*),
       percentile_disc(0.5) within group (order by j.claimed_at - j.run_at),
       percentile_disc(0.95) within group (order by j.claimed_at - j.run_at)
from newest n
join fenceline.jobs j on j.id = n.job_id and j.generation = n.generation and j.run_at <= j.claimed_at
group by grouping sets ((j.queue), (j.kind))`

func (r *queueReading) starts(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, startsSQL, startsLook, RecentWindow, startsBound)
	if err != nil {
		return err
	}
	var queue, kind *string
	var ofQueue bool
	var n int64
	var half, most time.Duration
	_, err = pgx.ForEachRow(rows, []any{&queue, &kind, &ofQueue, &n, &half, &most}, func() error {
		recent := &Recent{}
		switch {
		case ofQueue:
			recent = &r.queue(*queue).Recent
		case r.only == "" || r.kinds[*kind] != nil:
			recent = &r.kind(*kind).Recent
		}
		recent.Starts, recent.Start50, recent.Start95 = n, half, most
		return nil
	})
	return err
}
