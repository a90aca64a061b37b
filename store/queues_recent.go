package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// recentSQL looks back along the feed's index, newest first, for a bounded
// number of transitions. Per queue and kind it tells what they were, and in
// which part of the time results were stored.
const recentSQL = `
with newest as materialized (
  select t.queue, t.kind, t.type, t.at
  from fenceline.transitions t
  order by t.xid desc, t.id desc
  limit $1
), span as materialized (
  select clock_timestamp() as now, count(*) as seen,
         case when count(*) < $1 then now() - $2::interval else greatest(min(n.at), now() - $2::interval) end as since
  from newest n
)
select s.now, s.since, s.seen >= $1 and s.since > now() - $2::interval, n.queue, n.kind,
       count(*) filter (where n.type = 'claimed'), count(*) filter (where n.type = 'completed'),
       count(*) filter (where n.type = 'failed'), count(*) filter (where n.type = 'expired'),
       count(*) filter (where n.type = 'rejected'),
       array_agg(least($3 - 1, greatest(0, floor($3 * extract(epoch from n.at - s.since) / greatest(extract(epoch from s.now - s.since), 0.001))))::integer)
         filter (where n.type = 'completed')
from span s
left join newest n on n.at >= s.since
group by 1, 2, 3, 4, 5`

func (r *queueReading) recent(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, recentSQL, recentBound, RecentWindow, RecentSteps)
	if err != nil {
		return err
	}
	var queue, kind *string
	var n Recent
	var steps []int32
	_, err = pgx.ForEachRow(rows, []any{&r.out.Now, &r.out.Since, &r.out.Cut, &queue, &kind,
		&n.Claimed, &n.Completed, &n.Failed, &n.Expired, &n.Refused, &steps}, func() error {
		if queue == nil || r.only != "" && r.only != *queue {
			return nil
		}
		r.queue(*queue).Recent.add(n, steps)
		r.kind(*kind).Recent.add(n, steps)
		return nil
	})
	r.out.Now, r.out.Since = r.out.Now.UTC(), r.out.Since.UTC()
	return err
}

func (r *Recent) add(n Recent, steps []int32) {
	r.Claimed += n.Claimed
	r.Completed += n.Completed
	r.Failed += n.Failed
	r.Expired += n.Expired
	r.Refused += n.Refused
	if len(steps) > 0 && r.Series == nil {
		r.Series = make([]int64, RecentSteps)
	}
	for _, step := range steps {
		r.Series[step]++
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
	rows, err := tx.Query(ctx, startsSQL, recentBound, RecentWindow, startsBound)
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
