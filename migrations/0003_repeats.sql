-- What tells a repeat of an older attempt from a stale write.

-- +goose Up

-- attempt_did reports whether this attempt's own write of that type is on
-- record. The guard asks it once it holds the job's row. Being volatile it
-- reads what is committed at that moment; a look from within the statement
-- would miss what was committed while it waited for the row.
-- +goose StatementBegin
create function fenceline.attempt_did(
  job bigint, attempt uuid, generation bigint, done fenceline.transition_type
) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from fenceline.transitions t
    where t.job_id = job and t.attempt_id = attempt and t.generation = attempt_did.generation and t.type = done);
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.attempt_did(bigint, uuid, bigint, fenceline.transition_type) from public;
grant execute on function fenceline.attempt_did(bigint, uuid, bigint, fenceline.transition_type) to fenceline_runtime;

-- +goose Down
drop function fenceline.attempt_did(bigint, uuid, bigint, fenceline.transition_type);
