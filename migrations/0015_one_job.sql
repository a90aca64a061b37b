-- What operators do with one job beside requeue and terminate: other args, with
-- those before kept, other conditions, notes, copies, and erasure.

-- +goose Up

-- Programs of the version before write none of these, and read them as text.
alter type fenceline.transition_type add value if not exists 'amended';
alter type fenceline.transition_type add value if not exists 'erased';
alter type fenceline.transition_type add value if not exists 'noted';
alter type fenceline.transition_type add value if not exists 'duplicated';

alter table fenceline.jobs add column args_version bigint; -- null for the first
alter table fenceline.jobs add column erased_at timestamptz; -- its args are gone, until it gets others
-- Programs of the version before do not ask whether args are there. New rows
-- only: none is erased yet.
alter table fenceline.jobs add constraint what_is_erased_does_not_run
  check (erased_at is null or state in ('completed', 'discarded', 'terminated')) not valid;

-- Args that others took the place of. They go with their job, or when it is
-- erased.
create table fenceline.args_versions (
  job_id      bigint not null references fenceline.jobs on delete cascade,
  version     bigint not null,
  replaced_at timestamptz not null,
  replaced_by text not null,
  args        jsonb not null,
  primary key (job_id, version)
);
grant select, insert on fenceline.args_versions to fenceline_runtime;

-- operator_did reports whether the request with this id is on the job's record.
-- Being volatile it reads what is committed at that moment, see attempt_did.
-- +goose StatementBegin
create function fenceline.operator_did(job bigint, request uuid) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  return exists (select from fenceline.transitions t where t.job_id = job and t.detail ->> 'request' = request::text);
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.operator_did(bigint, uuid) from public;
grant execute on function fenceline.operator_did(bigint, uuid) to fenceline_runtime;

-- erase_left removes what the args, errors and outputs of an erased job have
-- left beside its row, and nothing of any other job. That an attempt failed, when
-- and with which class of error stays.
-- +goose StatementBegin
create function fenceline.erase_left(job bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from fenceline.jobs j where j.id = job and j.erased_at is not null) then
    return;
  end if;
  delete from fenceline.args_versions v where v.job_id = job;
  delete from fenceline.attempt_outputs o where o.job_id = job;
  update fenceline.attempt_errors e set message = '', trace = null where e.job_id = job;
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.erase_left(bigint) from public;
grant execute on function fenceline.erase_left(bigint) to fenceline_runtime;

-- +goose Down
-- What an enum can say cannot be taken back, and what was logged stays.
drop function fenceline.erase_left(bigint);
drop function fenceline.operator_did(bigint, uuid);
drop table fenceline.args_versions;
alter table fenceline.jobs drop column args_version, drop column erased_at;
