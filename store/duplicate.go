package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// duplicateSQL makes a job of another one's columns: $8 to $15 as of amendSQL.
var duplicateSQL = opening{
	columns: givenColumns, given: givenSQL, joins: givenJoins, audited: auditedChange,
	verdicts: `           when l.erased_at is not null and g.given is null and $9::bigint = 0 then 'erased'
           when $9::bigint > 0 and g.given is null then '!restore'
` + tagVerdicts,
}.sql() + `
, source as materialized (
  select v.* from verdict v where v.verdict = 'accepted'
), copied as (
  insert into fenceline.jobs (created_at, run_at, state, max_attempts, priority, kind, queue, args, enqueued_by, tags)
  select v.at, case when $12::timestamptz is null then v.at else greatest($12::timestamptz, v.at) end,
         (case when $12::timestamptz > v.at then 'scheduled' else 'available' end)::fenceline.job_state,
         case when $13::integer > 0 then $13::integer else v.max_attempts end, coalesce($10::integer::smallint, v.priority),
         v.kind, coalesce(nullif($11::text, ''), v.queue), coalesce(v.given, v.args), $3, ` + changedTags + `
  from source v
  returning id, created_at, run_at, state, kind, queue, max_attempts
), begun as (
  insert into fenceline.transitions
    (job_id, at, revision, run_at, type, to_state, attempts_used, max_attempts, kind, queue, actor, detail)
  select c.id, c.created_at, 1, c.run_at, 'enqueued', c.state, 0, c.max_attempts, c.kind, c.queue, $3,
         jsonb_build_object('copy_of', $1::bigint::text)
  from copied c
), changed as (
  update fenceline.jobs j set revision = s.revision + 1 from source s where j.id = s.id
), logged as (` + remarked("source", "duplicated", "coalesce($6::jsonb, '{}') || (select jsonb_build_object('copy', c.id::text) from copied c)") + `
)` + operatedOne + ` and ` + workNotified + `, (select c.id from copied c) from verdict v`

// Duplicate enqueues a new job like one that is there, in whatever state that is,
// but for what the change says: of its kind, with its args, queue, priority,
// budget and tags, under no key, with no parent, and due at once. Both timelines
// tell of the other job. *[ConflictError] where the job changed since it was looked
// at, or has no args because they were erased and the change gives none.
// [ErrNotFound] when there is no such job.
func (s *Store) Duplicate(ctx context.Context, p OperatorParams, c Change) (Job, error) {
	if err := c.check(); err != nil {
		return Job{}, err
	}
	done, err := s.operate(ctx, operation{action: ActionDuplicate, sql: duplicateSQL, logs: TypeDuplicated,
		detail: c.detail(), args: c.params(), change: c}, p)
	if err != nil {
		return Job{}, err
	}
	return s.Job(ctx, done.Copy)
}

// repeated tells of a request that is on the job's record which job it made; 0 for
// none. An *[InvalidError] where its id stands for something else.
func repeated(ctx context.Context, tx pgx.Tx, o operation, p OperatorParams) (int64, error) {
	rows, err := tx.Query(ctx, `select `+transitionColumns+` from fenceline.transitions t
		where t.job_id = $1 and t.detail ->> 'request' = $2::uuid::text order by t.id limit 1`, p.JobID, p.Request)
	if err != nil {
		return 0, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanTransition)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fmt.Errorf("request %s is no longer on record", p.Request)
	case err != nil:
		return 0, err
	}
	same := t.Type == o.logs && t.Reason == p.Reason && o.change.did(t)
	if same && o.change.Args != nil && t.Type != TypeDuplicated {
		err = tx.QueryRow(ctx, `
			select coalesce((case when $2 = coalesce(j.args_version, 1) then j.args else a.args end)::text = ($3::text::jsonb)::text, true)
			from fenceline.jobs j left join fenceline.args_versions a on a.job_id = j.id and a.version = $2
			where j.id = $1 and j.erased_at is null`, p.JobID, t.Detail.ArgsVersion, string(o.change.Args)).Scan(&same)
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil // erased since: nobody can tell
		}
	}
	if err == nil && !same {
		err = &InvalidError{"request_id", "has been used for another request on this job"}
	}
	return t.Detail.Copy, err
}

// did reports whether a transition is one that the change made, as far as it
// tells; it does not tell args.
func (c Change) did(t Transition) bool {
	d := t.Detail
	same := d.Restored == c.Restore && d.TagAdded == c.AddTag && d.TagRemoved == c.RemoveTag &&
		(c.Priority == nil) == (d.Priority == nil) && (c.Priority == nil || *c.Priority == *d.Priority)
	if t.Type == TypeAmended || t.Type == TypeRequeued {
		same = same && c.given() == (d.ArgsVersion != 0)
	}
	if t.Type == TypeAmended {
		same = same && (c.Queue == "" || c.Queue == t.Queue) && (c.MaxAttempts == 0 || c.MaxAttempts == t.MaxAttempts) &&
			(c.RunAt.IsZero() || !t.RunAt.Before(c.RunAt.UTC().Truncate(1000)))
	}
	return same
}
