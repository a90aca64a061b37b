package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	// haltSample is how many parts of what is judged the stop rule looks at.
	haltSample = 20
	// haltLeast is how many jobs must have run again before the rule can halt.
	haltLeast = 10
)

// haltSQL tells, of the jobs that an operation requeued since it was confirmed, or
// resumed last, how many have run again since, and how many of those failed with
// the same error: the one that the job had failed with before, or else one that
// most of them share. $1 operation, $2 position, $3 the length of a part, $4 of how
// many parts one is looked at, $5 since when, $6 the position then.
const haltSQL = `
with acted as materialized (
  select u.id, u.seen
  from fenceline.operation_parts p
  cross join lateral unnest(p.jobs, p.revisions) with ordinality as u (id, seen, i)
  where p.operation_id = $1 and p.n >= $6::bigint / $3::bigint and (p.n - $6::bigint / $3::bigint) % $4 = 0 and p.n * $3 < $2
    and p.n * $3 + u.i > $6 and p.n * $3 + u.i <= $2
    and not exists (select from fenceline.operation_skips s where s.operation_id = $1 and s.job_id = u.id)
), ran as materialized (
  select again.fingerprint as again, earlier.fingerprint as earlier
  from acted a
  join fenceline.jobs j on j.id = a.id and j.revision > a.seen + 1
  left join lateral (
    select e.fingerprint from fenceline.attempt_errors e where e.job_id = a.id and e.at > $5 order by e.generation desc limit 1
  ) again on true
  left join lateral (
    select e.fingerprint from fenceline.attempt_errors e where e.job_id = a.id and e.at <= $5 order by e.generation desc limit 1
  ) earlier on true
  where again.fingerprint is not null or j.state = 'completed' and j.finished_at > $5
), shared as (
  select count(*) as n from ran r where r.again is not null group by r.again order by 1 desc limit 1
)
select count(*), greatest(count(*) filter (where r.again = r.earlier), coalesce((select s.n from shared s), 0)) from ran r`

// halt looks at the stop rule and says why the operation must not go on; empty
// when it may.
func (o *underWay) halt(ctx context.Context, tx pgx.Tx) (string, error) {
	parts := (o.Position+partJobs-1)/partJobs - o.from/partJobs
	since := o.ConfirmedAt
	if !o.ResumedAt.IsZero() {
		since = o.ResumedAt
	}
	var ran, same int64
	err := tx.QueryRow(ctx, haltSQL, pgx.QueryExecModeCacheDescribe,
		o.ID, o.Position, int64(partJobs), max(1, (parts+haltSample-1)/haltSample), since, o.from).Scan(&ran, &same)
	if err != nil {
		return "", fmt.Errorf("look at the stop rule: %w", err)
	}
	if ran < min(haltLeast, o.Total-o.from) || same*100 <= ran*int64(o.HaltAbove) {
		return "", nil
	}
	return fmt.Sprintf("%d of %d jobs that ran again failed with the same error, which is more than %d%%", same, ran, o.HaltAbove), nil
}

// mustHalt says why the operation must not go on; empty when it may.
func (o *underWay) mustHalt(ctx context.Context, tx pgx.Tx) (code HaltCode, why string, err error) {
	if why, err = o.withdrawn(ctx, tx); err != nil || why != "" || !o.judge {
		return HaltRightLost, why, err
	}
	why, err = o.halt(ctx, tx)
	return HaltStopRule, why, err
}

// stop halts the operation, unless there is no reason to.
func (o *underWay) stop(ctx context.Context, tx pgx.Tx, worker string, code HaltCode, why string) error {
	if why == "" {
		return nil
	}
	var mark bool
	return tx.QueryRow(ctx, `
		with halted as (
		  update fenceline.operations o
		  set state = 'halted', halt_reason = $3, halt_code = $4, revision = o.revision + 1, changed_at = clock_timestamp(), judged_at = clock_timestamp(), worker = $2
		  where o.id = $1
		  returning o.*
		), audited as (
		  insert into fenceline.audit (actor, action, outcome, reason, detail)
		  select $2, 'halt', 'done', $3, jsonb_build_object('operation', h.id::text, 'does', h.action, 'total', h.total, 'dealt_with', h.position, 'halted_by', h.halt_code)
		  from halted h
		)
		select `+notified+` from halted`, o.ID, worker, why, string(code)).Scan(&mark)
}
