-- What is kept for how long: finished jobs go in small steps, the log goes by
-- whole partitions, and how far either has come is on record.

-- +goose Up

-- One row, which is where any process goes on from where another was stopped.
create table fenceline.retention (
  only_row    boolean primary key default true check (only_row),
  jobs_before timestamptz, -- jobs that had finished before it may be gone
  jobs_after  bigint not null default 0, -- the pass over the jobs has come to this id
  jobs_next   timestamptz, -- when the next pass begins; null while one is under way
  log_before  timestamptz, -- what the log held before it is gone
  log_pass    timestamptz, -- what the pass under way removes the log before; null when none is
  log_xid     xid8, -- transactions below it may still write before log_pass
  log_after   bigint, -- baselines are written up to this job's id; null once all are
  constraint a_pass_has_its_transaction check ((log_pass is null) = (log_xid is null))
) with (fillfactor = 50);
insert into fenceline.retention default values;
grant select, update on fenceline.retention to fenceline_runtime;

-- remove_jobs looks at the next jobs in the order of their ids and removes
-- those that finished longer ago than keep, with what their attempts left. One
-- caller works at a time and the others return at once. A follow-up goes after
-- its parent, so that a parent that runs again finds it. The role of a running
-- Fenceline cannot delete a job; this function does not for the first hour.
-- +goose StatementBegin
create function fenceline.remove_jobs(keep interval, look integer, out removed integer, out more boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  cutoff  timestamptz := now() - greatest(keep, interval '1 hour');
  pass    fenceline.retention;
  seen    integer;
  last    bigint;
  newest  timestamptz;
  doomed  bigint[];
begin
  removed := 0;
  more := false;
  if not pg_try_advisory_xact_lock(hashtextextended('fenceline.retention', 0)) then
    return;
  end if;
  select * into pass from fenceline.retention;
  if pass.jobs_next > now() then
    return;
  end if;
  select count(*), max(w.id), max(w.created_at),
         array_agg(w.id) filter (where w.finished_at < cutoff and w.state in ('completed', 'discarded', 'terminated'))
  into seen, last, newest, doomed
  from (
    select j.id, j.created_at, j.finished_at, j.state from fenceline.jobs j
    where j.id > pass.jobs_after order by j.id limit look
  ) w;
  if doomed is not null then
    -- What is locked elsewhere, as by a requeue, is left for the next pass.
    with gone as materialized (
      select j.id from fenceline.jobs j
      where j.id = any (doomed) and j.finished_at < cutoff and j.state in ('completed', 'discarded', 'terminated')
        and (j.parent_id is null or not exists (select from fenceline.jobs p where p.id = j.parent_id))
      for update skip locked
    )
    select array_agg(g.id) into doomed from gone g;
  end if;
  if doomed is not null then
    delete from fenceline.attempt_errors e where e.job_id = any (doomed);
    delete from fenceline.attempt_outputs o where o.job_id = any (doomed);
    delete from fenceline.jobs j where j.id = any (doomed);
    get diagnostics removed = row_count;
  end if;
  -- Who was enqueued after the cutoff cannot have finished before it.
  more := seen = look and newest <= cutoff;
  update fenceline.retention r
  set jobs_before = case when removed > 0 then greatest(r.jobs_before, cutoff) else r.jobs_before end,
      jobs_after = case when more then last else 0 end,
      jobs_next = case when more then null else now() + interval '1 minute' end;
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.remove_jobs(interval, integer) from public;
grant execute on function fenceline.remove_jobs(interval, integer) to fenceline_runtime;

-- old_partitions lists the partitions that hold nothing from before or later on.
-- +goose StatementBegin
create function fenceline.old_partitions(before timestamptz) returns table (name regclass, until timestamptz)
language sql stable set search_path = pg_catalog, pg_temp set datestyle = 'ISO' set timezone = 'UTC' as $$
  select p.name, p.until
  from (
    select c.oid::regclass as name,
           substring(pg_get_expr(c.relpartbound, c.oid) from $re$ TO \('([^']+)'\)$re$)::timestamptz as until
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'fenceline.transitions'::regclass
  ) p
  where p.until <= before
  order by p.until
$$;
-- +goose StatementEnd

-- log_boundary is the midnight before which the log is to be removed, where
-- there is something to remove; else null. The last day is always kept.
-- +goose StatementBegin
create function fenceline.log_boundary(keep interval) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  before timestamptz := date_trunc('day', now() - greatest(keep, interval '1 day'), 'UTC');
begin
  if exists (select from fenceline.old_partitions(before))
     or exists (select from fenceline.transitions_rest t where t.at < before)
     or (select u.at from fenceline.unknown_writes u order by u.id limit 1) < before then
    return before;
  end if;
  return null;
end
$$;
-- +goose StatementEnd

revoke all on function fenceline.old_partitions(timestamptz), fenceline.log_boundary(interval) from public;
grant execute on function fenceline.old_partitions(timestamptz), fenceline.log_boundary(interval) to fenceline_runtime;

-- drop_log removes one old partition, or up to many rows that lie in none, of
-- what is before the pass's boundary and has its baselines. Dropping needs the
-- log for itself for a moment, as making a partition does, and gives up as
-- soon; DETACH CONCURRENTLY is not for tables with a default partition.
-- +goose StatementBegin
create function fenceline.drop_log(many integer) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  before timestamptz;
  victim regclass;
  n      bigint;
begin
  select least(r.log_pass, date_trunc('day', now() - interval '1 day', 'UTC')) into before
  from fenceline.retention r where r.log_pass is not null and r.log_after is null;
  if before is null then
    return 'not now';
  end if;
  select p.name into victim from fenceline.old_partitions(before) p limit 1;
  if victim is not null then
    begin
      execute format('drop table %s', victim);
    exception
      when lock_not_available then return 'busy';
    end;
    update fenceline.retention r set log_before = greatest(r.log_before, before);
    return 'more';
  end if;
  delete from fenceline.transitions_rest t
  where t.ctid = any (array (select o.ctid from fenceline.transitions_rest o where o.at < before limit many));
  get diagnostics n = row_count;
  if n > 0 then
    update fenceline.retention r set log_before = greatest(r.log_before, before);
    return 'more';
  end if;
  delete from fenceline.unknown_writes u
  where u.id = any (array (select o.id from fenceline.unknown_writes o order by o.id limit many)) and u.at < before;
  get diagnostics n = row_count;
  return case when n > 0 then 'more' else 'done' end;
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.drop_log(integer) from public;
grant execute on function fenceline.drop_log(integer) to fenceline_runtime;

-- +goose Down
drop function fenceline.drop_log(integer);
drop function fenceline.log_boundary(interval);
drop function fenceline.old_partitions(timestamptz);
drop function fenceline.remove_jobs(interval, integer);
drop table fenceline.retention;
