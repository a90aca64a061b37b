-- Operators' actions on many jobs: what was seen, how far it has come, and what
-- was left alone.

-- +goose Up

-- The jobs of an operation are those that its snapshot names, at the revisions
-- that it saw. It begins as a preview, which acts on nothing; once confirmed,
-- any process carries it on. The claim is the lock of its row, and a step is one
-- transaction under it: the position moves with the jobs that were dealt with, or
-- neither does, whatever becomes of the process.
create table fenceline.operations (
  id            bigint generated always as identity primary key,
  revision      bigint not null default 1, -- grows with each change by an operator or of the state
  position      bigint not null default 0, -- jobs of the snapshot that were dealt with
  done          bigint not null default 0, -- of those, how many were changed
  total         bigint not null,           -- jobs in the snapshot
  looked        bigint,                    -- the search stopped after so many jobs; null when it saw all
  created_at    timestamptz not null default clock_timestamp(),
  confirmed_at  timestamptz,
  changed_at    timestamptz not null default clock_timestamp(), -- of the state
  stepped_at    timestamptz,               -- of the last step
  next_at       timestamptz,               -- when the pace allows the next step
  judged_at     timestamptz,               -- when the stop rule was last looked at
  finished_at   timestamptz,
  search        uuid,                      -- the kept search, where the filter may stand in no address
  state         text not null default 'preview',
  action        text not null,
  created_by    text not null,
  confirmed_by  text,
  reason        text,
  filter        text,                      -- the search; null where jobs were ticked, or it is kept
  filter_words  text not null,
  worker        text,                      -- who took the last step
  halt_reason   text,
  states        jsonb not null,            -- how many jobs were in which state when they were looked at
  expected      jsonb not null,            -- how many were going to be left alone, by why
  pace          bigint,                   -- jobs a minute; null for as fast as it goes
  halt_above    bigint,                   -- percent that may fail again with the same error
  constraint state_is_known check (state in ('preview', 'running', 'paused', 'halted', 'cancelled', 'finished')),
  constraint action_is_known check (action in ('requeue', 'terminate')),
  constraint confirmed_by_somebody check
    ((confirmed_at is null) = (confirmed_by is null) and (confirmed_at is null) = (reason is null)),
  constraint a_preview_is_not_confirmed check ((state = 'preview') = (confirmed_at is null)),
  constraint what_is_over_has_an_end check ((state in ('cancelled', 'finished')) = (finished_at is not null)),
  constraint position_is_within check (position between 0 and total and done between 0 and position),
  constraint pace_is_positive check (pace > 0),
  constraint halt_above_is_a_percentage check (halt_above between 1 and 99)
) with (fillfactor = 50);
-- What a process that looks for work asks; as a rule it is empty.
create index operations_running on fenceline.operations (id) where state = 'running';

-- The snapshot, in parts of the same length but for the last.
create table fenceline.operation_parts (
  operation_id bigint not null,
  n            bigint not null, -- from 0
  jobs         bigint[] not null,
  revisions    bigint[] not null,
  primary key (operation_id, n)
);

-- Jobs of a snapshot that were left alone, and why.
create table fenceline.operation_skips (
  operation_id bigint not null,
  job_id       bigint not null,
  at           timestamptz not null,
  seen         bigint not null,
  revision     bigint,  -- when it was left alone; null for a job that is gone
  why          text not null,
  state        fenceline.job_state,
  primary key (operation_id, job_id)
);

-- What operators did with an operation, and what became of it.
create index audit_operation on fenceline.audit ((detail ->> 'operation'), id)
  where detail ? 'operation' and job_id is null;

grant select, insert, update on fenceline.operations to fenceline_runtime;
grant select, insert on fenceline.operation_parts, fenceline.operation_skips to fenceline_runtime;
grant usage on all sequences in schema fenceline to fenceline_runtime;

-- forget_operations removes previews that nobody confirmed for a day, and
-- operations that ended so long ago, at most so many at a time. The audit and
-- the jobs' timelines keep what they did.
-- +goose StatementBegin
create function fenceline.forget_operations(keep interval, most bigint) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone bigint[];
begin
  with doomed as materialized (
    select o.id from fenceline.operations o
    where o.state = 'preview' and o.created_at < now() - interval '1 day'
       or o.finished_at < now() - greatest(keep, interval '1 hour')
    order by o.id limit most
    for update skip locked
  ), removed as (
    delete from fenceline.operations o using doomed d where o.id = d.id returning o.id
  )
  select array_agg(r.id) into gone from removed r;
  delete from fenceline.operation_parts p where p.operation_id = any (gone);
  delete from fenceline.operation_skips s where s.operation_id = any (gone);
  return coalesce(cardinality(gone), 0);
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.forget_operations(interval, bigint) from public;
grant execute on function fenceline.forget_operations(interval, bigint) to fenceline_runtime;

-- +goose Down
drop function fenceline.forget_operations(interval, bigint);
drop index fenceline.audit_operation;
drop table fenceline.operation_skips;
drop table fenceline.operation_parts;
drop table fenceline.operations;
