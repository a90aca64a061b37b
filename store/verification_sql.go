package store

// detailsSQL is what I8 allows in a transition's detail, as far as shape can
// show it: no field but the known small ones.
const detailsSQL = `coalesce(t.detail - array['current', 'class', 'follow_ups', 'linked', 'unstarted', 'lease_ms', 'first', 'before', 'count',
         'attempt_end', 'claimed_at', 'ended_at', 'finished_at', 'result_by', 'result_generation', 'operation',
         'request', 'args_version', 'restored', 'priority', 'priority_was',
         'queue_was', 'run_at_was', 'max_attempts_was', 'tag_added', 'tag_removed', 'copy', 'copy_of',
         'args_from', 'erased'] = '{}' and octet_length(t.detail::text) <= 4096, true)`

// earlierSQL is the last transition of the same job before t that says
// something. It is looked for within a day first, so that no other partition is
// entered for the many that have theirs there. Clocks may have been set back:
// ids say what came before. It is looked for only when that is asked of t: inside
// the statement, or the server would look and throw away.
func earlierSQL(when, says string) string {
	const columns = `p.type, p.at, p.attempt_id, p.generation, p.lease_until, p.to_state, p.revision, p.attempts_used, p.max_attempts, p.queue`
	return `select * from (
      (select ` + columns + ` from fenceline.transitions p
       where ` + when + ` and p.job_id = t.job_id and p.id < t.id and p.at > t.at - interval '1 day' and p.at < t.at + interval '1 day' and ` + says + `
       order by p.id desc limit 1)
      union all
      (select ` + columns + ` from fenceline.transitions p
       where ` + when + ` and p.job_id = t.job_id and p.id < t.id and ` + says + `
       order by p.id desc limit 1)
    ) p limit 1`
}

// verifySQL reads the next part of the log and doubts what the transitions
// before it in its job do not plainly allow. A doubt is no verdict: it has the
// job's log folded. Of each transition it reads: the last one that was no
// refusal; where that is a renewal and this is none, the last change of the row
// as well, which passes each renewal once in its life; and for a claim the last
// generation. What operators did is always folded.
var verifySQL = `
with behind as materialized (
  select t.xid, t.id, t.job_id, t.at, t.type, t.attempt_id, t.generation, t.lease_until, t.from_state, t.to_state,
         t.revision, t.attempts_used, t.max_attempts, t.queue, t.detail
  from fenceline.transitions t
  where (t.xid, t.id) > ($1::text::xid8, $2::bigint) and t.xid < pg_snapshot_xmin(pg_current_snapshot())
  order by t.xid, t.id
  limit $3
), judged as materialized (
  select t.id, t.job_id, t.at, ` + detailsSQL + ` as small,
         not coalesce(case t.type
           when 'rejected' then true
           when 'enqueued' then t.from_state is null and t.revision = 1 and t.attempts_used = 0 and t.to_state in ('scheduled', 'available')
           when 'renewed' then held.yes
           when 'claimed' then step.yes and t.from_state = 'available' and t.to_state = 'running' and t.attempt_id is not null
             and t.attempts_used = q.attempts_used + 1 and t.attempts_used <= t.max_attempts and t.lease_until > t.at
             and t.generation = coalesce(g.generation, 0) + 1
           when 'completed' then held.yes and step.yes and t.to_state = 'completed' and t.attempts_used = q.attempts_used
           when 'failed' then held.yes and step.yes and t.to_state in ('available', 'retryable', 'discarded') and t.attempts_used = q.attempts_used
           when 'released' then held.yes and step.yes and t.to_state in ('available', 'discarded')
             and t.attempts_used = q.attempts_used - case when (t.detail ->> 'unstarted')::boolean then 1 else 0 end
           when 'expired' then l.type in ('claimed', 'renewed') and l.attempt_id = t.attempt_id and t.at >= l.lease_until
             and step.yes and t.to_state in ('available', 'retryable', 'discarded') and t.attempts_used = q.attempts_used
           when 'promoted' then step.yes and t.from_state in ('scheduled', 'retryable') and t.to_state = 'available' and t.attempts_used = q.attempts_used
           when 'noted' then step.yes and t.to_state = t.from_state and t.attempts_used = q.attempts_used
           when 'duplicated' then step.yes and t.to_state = t.from_state and t.attempts_used = q.attempts_used
         end, false) as doubtful
  from behind t
  left join lateral (` + earlierSQL("t.type not in ('enqueued', 'rejected')", "p.type <> 'rejected'") + `) l on true
  left join lateral (
    select l.type, l.generation, l.to_state, l.revision, l.attempts_used, l.max_attempts, l.queue where l.revision is not null
    union all
    select b.type, b.generation, b.to_state, b.revision, b.attempts_used, b.max_attempts, b.queue
    from (` + earlierSQL("l.revision is null and t.type not in ('enqueued', 'rejected', 'renewed')", "p.revision is not null and p.type <> 'rejected'") + `) b
  ) q on true
  left join lateral (
    select q.generation where q.generation is not null
    union all
    select c.generation from (` + earlierSQL("q.generation is null and q.attempts_used > 0 and t.type = 'claimed'", "p.generation is not null and p.type <> 'rejected'") + `) c
  ) g on true
  cross join lateral (select l.type in ('claimed', 'renewed') and l.attempt_id = t.attempt_id and l.generation = t.generation and t.at < l.lease_until as yes) held
  cross join lateral (select q.to_state = t.from_state and t.revision = q.revision + 1 and t.queue = q.queue and t.max_attempts = q.max_attempts as yes) step
  where t.type <> 'baseline'
)
select (select count(*) from behind), count(*), min(j.at), clock_timestamp(),
       (select b.xid::text from behind b order by b.xid desc, b.id desc limit 1),
       (select b.id from behind b order by b.xid desc, b.id desc limit 1),
       (select b.at from behind b order by b.xid desc, b.id desc limit 1),
       coalesce(array_agg(j.id) filter (where j.doubtful), '{}'), coalesce(array_agg(distinct j.job_id) filter (where j.doubtful), '{}'),
       coalesce(array_agg(j.id) filter (where not j.small), '{}'), coalesce(array_agg(j.job_id) filter (where not j.small), '{}'),
       coalesce(array_agg(j.at) filter (where not j.small), '{}')
from judged j`
