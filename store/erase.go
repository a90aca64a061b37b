package store

import "context"

var (
	// eraseSQL keeps no hash either: of short args it would tell what they were.
	eraseSQL = opening{verdicts: `           when l.erased_at is not null then 'erased'
           when l.state not in ('completed', 'discarded', 'terminated') then 'not_ended'
`}.sql() + `
, erased as materialized (
  select v.* from verdict v where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j
  set revision = e.revision + 1, erased_at = e.at, args = '{}', result = null, result_attempt_id = null, result_generation = null,
      request_hash = case when j.key is not null then '\x'::bytea end
  from erased e
  where j.id = e.id
), logged as (` + remarked("erased", "erased", "$6::jsonb") + `
)` + operatedOne + `, null::bigint from verdict v`

	noteSQL = opening{}.sql() + `
, noted as materialized (
  select v.* from verdict v where v.verdict = 'accepted'
), changed as (
  update fenceline.jobs j set revision = n.revision + 1 from noted n where j.id = n.id
), logged as (` + remarked("noted", "noted", "$6::jsonb") + `
)` + operatedOne + `, null::bigint from verdict v`
)

// remarked logs what leaves a job where it stands, from a part of the statement.
func remarked(part, logs, detail string) string {
	return `
  insert into fenceline.transitions
    (job_id, at, generation, revision, run_at, type, from_state, to_state, attempts_used, max_attempts,
     kind, queue, actor, reason, detail)
  select r.id, r.at, r.generation, r.revision + 1, r.run_at, '` + logs + `', r.state, r.state, r.attempts_used, r.max_attempts,
         r.kind, r.queue, $3, $4, ` + detail + `
  from ` + part + ` r`
}

// Erase removes what an ended job was given and what it made: its args with every
// version that was kept, its result, the texts of its attempts' errors and what
// their programs said. Its timeline stays, with the class of each error and the
// fingerprint of its text. Nothing brings them back; the job can run again only
// with other args, see [Store.RequeueWith]. What was enqueued under its key is told
// apart no more: another request with that key is refused, whatever it asks.
// *[ConflictError] where it has not ended, is erased already, or changed since it
// was looked at. [ErrNotFound] when there is no such job.
func (s *Store) Erase(ctx context.Context, p OperatorParams) (Job, error) {
	done, err := s.operate(ctx, operation{action: ActionErase, sql: eraseSQL, logs: TypeErased, after: "select fenceline.erase_left($1)"}, p)
	return done.Job, err
}

// Note writes the operator's words, the reason, on a job's timeline, in whatever
// state it is. What was looked at before counts as changed. *[ConflictError] where
// the job changed since; [ErrNotFound] when there is no such job.
func (s *Store) Note(ctx context.Context, p OperatorParams) (Job, error) {
	done, err := s.operate(ctx, operation{action: ActionNote, sql: noteSQL, logs: TypeNoted}, p)
	return done.Job, err
}
