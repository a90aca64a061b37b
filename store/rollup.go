package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Rolled is what one step of counting the log did.
type Rolled struct {
	Counted int  // transitions
	More    bool // the step was full: another one is due at once
	Busy    bool // another process is at it
}

// rollMost bounds one step.
const rollMost = 5000

// rollLock lets one process at a time count the log.
const rollLock = "hashtextextended('fenceline.rollup', 0)"

// measuredSQL measures the transitions of a source, of which each is read once
// more at most: the one before it in its job, and for an end the claim. Both are
// looked for within a day, so that no older partition is entered.
const measuredSQL = `measured as materialized (
  select date_trunc('minute', b.at, 'UTC') as minute, b.queue, b.kind, b.type,
         case when b.type in ` + operatorTypes + ` then '' else coalesce(b.reason, '') end as reason,
         case b.type when 'claimed' then b.generation > 1
                     when 'renewed' then (p.lease_until - b.at) * 4 < b.lease_until - b.at
                     else false end as marked,
         case b.type when 'claimed' then greatest(0, extract(epoch from b.at - coalesce(p.run_at, p.at)) * 1000)
                     when 'completed' then greatest(0, extract(epoch from b.at - c.at) * 1000)
                     when 'failed' then greatest(0, extract(epoch from b.at - c.at) * 1000)
                     when 'expired' then greatest(0, extract(epoch from b.at - c.at) * 1000) end::bigint as span,
         b.job_id, case when b.type = 'failed' then b.detail ->> 'class' end as fingerprint
  from batch b
  left join lateral (
    select p.at, p.run_at, p.lease_until
    from fenceline.transitions p
    where b.type in ('claimed', 'renewed') and p.job_id = b.job_id and p.id < b.id and p.type <> 'rejected'
      and p.at <= b.at and p.at > b.at - interval '1 day'
    order by p.id desc limit 1
  ) p on true
  left join lateral (
    select c.at
    from fenceline.transitions c
    where b.type in ('completed', 'failed', 'expired') and c.job_id = b.job_id and c.id < b.id
      and c.type = 'claimed' and c.attempt_id = b.attempt_id
      and c.at <= b.at and c.at > b.at - interval '1 day'
    order by c.id desc limit 1
  ) c on true
), grouped as materialized (
  select m.minute, m.queue, m.kind, m.type, m.reason, count(*) as n, count(*) filter (where m.marked) as marked,
         count(m.span) as spans, coalesce(sum(m.span), 0)::bigint as span_ms, coalesce(max(m.span), 0) as span_max_ms
  from measured m
  group by 1, 2, 3, 4, 5
)`

// batchSQL is what lies behind a position, up to a bound. Baselines stand for
// what was counted long ago.
const batchSQL = `behind as materialized (
  select t.xid, t.id, t.job_id, t.at, t.queue, t.kind, t.type, t.reason, t.generation, t.attempt_id, t.lease_until, t.detail
  from fenceline.transitions t
  where (t.xid, t.id) > ($1::text::xid8, $2::bigint) %s
  order by t.xid, t.id
  limit $3
), batch as materialized (
  select * from behind b where b.type <> 'baseline' and b.at >= $4
)`

// The newest of what was read is the position that the next step begins at.
var rollSQL = `with ` + fmt.Sprintf(batchSQL, `and t.xid < pg_snapshot_xmin(pg_current_snapshot())`) + `, ` + measuredSQL + `, kept as (
  insert into fenceline.rollups as r (minute, queue, kind, type, reason, n, marked, spans, span_ms, span_max_ms)
  select g.minute, g.queue, g.kind, g.type, g.reason, g.n, g.marked, g.spans, g.span_ms, g.span_max_ms from grouped g
  on conflict (minute, queue, kind, type, reason) do update
  set n = r.n + excluded.n, marked = r.marked + excluded.marked, spans = r.spans + excluded.spans,
      span_ms = r.span_ms + excluded.span_ms, span_max_ms = greatest(r.span_max_ms, excluded.span_max_ms)
), errors as (
  insert into fenceline.rollup_errors as r (minute, kind, fingerprint, n, job_id)
  select m.minute, m.kind, m.fingerprint, count(*), min(m.job_id)
  from measured m where m.fingerprint is not null and m.queue <> '` + NoticeQueue + `' group by 1, 2, 3
  on conflict (kind, fingerprint, minute) do update set n = r.n + excluded.n, job_id = least(r.job_id, excluded.job_id)
), ` + countedTouchesSQL + `, moved as (
  update fenceline.rollup_position p
  set xid = coalesce(l.xid, p.xid), id = coalesce(l.id, p.id), at = clock_timestamp()
  from (select) one left join (select b.xid, b.id from behind b order by b.xid desc, b.id desc limit 1) l on true
  where p.only_row
)
select count(*) from behind`

// Roll counts the next part of the log by the minute, and keeps between which ids
// the jobs of each minute lie. It goes by the order of
// (transaction, id) and stays behind the oldest transaction that may still
// write, so that it misses nothing and counts nothing twice; one process works
// at a time and the others return at once.
func (s *Store) Roll(ctx context.Context) (Rolled, error) {
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (out Rolled, err error) {
		var mine bool
		if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock("+rollLock+")").Scan(&mine); err != nil || !mine {
			return Rolled{Busy: !mine}, err
		}
		if _, err := tx.Exec(ctx, plannedOnce); err != nil {
			return Rolled{}, err
		}
		at, err := rollPosition(ctx, tx)
		if err != nil {
			return Rolled{}, err
		}
		if err := tx.QueryRow(ctx, rollSQL, at.xid, at.id, rollMost, at.since).Scan(&out.Counted); err != nil {
			return Rolled{}, err
		}
		more, err := keepIDs(ctx, tx)
		out.More = more || out.Counted == rollMost
		return out, err
	})
	if err != nil {
		return Rolled{}, fmt.Errorf("count the log: %w", err)
	}
	return out, nil
}

// position is up to where the log is counted.
type position struct {
	xid   string
	id    int64
	since any // a time, or infinity
	at    time.Time
}

func rollPosition(ctx context.Context, tx pgx.Tx) (p position, err error) {
	var at *time.Time
	var since string
	err = tx.QueryRow(ctx, "select p.xid::text, p.id, p.since::text, p.at from fenceline.rollup_position p where p.only_row").Scan(&p.xid, &p.id, &since, &at)
	p.since, p.at = since, orZero(at)
	return p, err
}

// forgetMost bounds one step of forgetting.
const forgetMost = 5000

// ForgetRollups removes counts of minutes older than keep, oldest first, a
// bounded number at a time. More says that another step is due at once.
func (s *Store) ForgetRollups(ctx context.Context, keep time.Duration) (more bool, err error) {
	if keep < MinKeepTransitions {
		return false, &InvalidError{"keep", fmt.Sprintf("must be at least %s", MinKeepTransitions)}
	}
	for _, sql := range []string{
		forgetIncidentJobsSQL,
		forgetNoticesSQL,
		forgetIDsSQL,
		`delete from fenceline.queue_minutes q using (
		   select o.minute, o.queue from fenceline.queue_minutes o
		   where o.minute < now() - $1::interval order by o.minute limit $2 for update skip locked) o
		 where (q.minute, q.queue) = (o.minute, o.queue)`,
		`delete from fenceline.rollups r using (
		   select o.minute, o.queue, o.kind, o.type, o.reason from fenceline.rollups o
		   where o.minute < now() - $1::interval order by o.minute limit $2 for update skip locked) o
		 where (r.minute, r.queue, r.kind, r.type, r.reason) = (o.minute, o.queue, o.kind, o.type, o.reason)`,
		`delete from fenceline.rollup_errors r using (
		   select o.minute, o.kind, o.fingerprint from fenceline.rollup_errors o
		   where o.minute < now() - $1::interval order by o.minute limit $2 for update skip locked) o
		 where (r.kind, r.fingerprint, r.minute) = (o.kind, o.fingerprint, o.minute)`,
	} {
		tag, err := s.pool.Exec(ctx, sql, keep, forgetMost)
		if err != nil {
			return false, fmt.Errorf("forget old counts: %w", err)
		}
		more = more || tag.RowsAffected() == forgetMost
	}
	return more, nil
}
