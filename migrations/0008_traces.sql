-- The trace of whoever enqueued a job, for the spans of its attempts.

-- +goose Up

alter table fenceline.jobs add column trace text;
-- New rows only: there is none yet to be looked at.
alter table fenceline.jobs add constraint trace_is_a_traceparent
  check (trace ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$') not valid;

-- current_trace is the W3C traceparent that the session or the transaction
-- named, as in: set local fenceline.traceparent = '00-…'. What is not one is
-- taken for none: a job is worth more than its trace.
-- +goose StatementBegin
create function fenceline.current_trace() returns text
language sql stable parallel safe set search_path = pg_catalog, pg_temp as $$
  select t from current_setting('fenceline.traceparent', true) t
  where t ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
    and t !~ '^00-0{32}' and t !~ '-0{16}-'
$$;
-- +goose StatementEnd
revoke all on function fenceline.current_trace() from public;
grant execute on function fenceline.current_trace() to fenceline_runtime;
alter table fenceline.jobs alter column trace set default fenceline.current_trace();

-- +goose Down
alter table fenceline.jobs drop column trace;
drop function fenceline.current_trace();
