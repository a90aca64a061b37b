-- What operators set for queues, kinds and workers, and who works now.

-- +goose Up

-- One row for each queue, kind or worker that somebody ever set something for,
-- and one for all of them. Rows stay, so that a revision is never used twice.
-- The claims of a limited queue lock its row: it is what makes them one after
-- another.
create table fenceline.controls (
  key          text primary key,
  revision     bigint not null,
  changed_at   timestamptz not null,
  paused_at    timestamptz,
  paused_until timestamptz, -- null: until somebody resumes it
  rate_per     interval,
  concurrency  bigint,
  rate         bigint,
  scope        text not null,
  name         text not null,
  paused_by    text,
  pause_reason text,
  -- The claims of the last rate_per, a twentieth of it in each entry: when the
  -- last of them was, and how many they were.
  spent_at     timestamptz[] not null default '{}',
  spent        integer[] not null default '{}',
  in_force     boolean not null generated always as
    (paused_at is not null or concurrency is not null or rate is not null) stored,
  constraint scope_is_known check (scope in ('all', 'queue', 'kind', 'worker')),
  constraint key_is_scope_and_name check (key = scope || ':' || name),
  constraint limits_are_of_queues_and_kinds check
    (scope in ('queue', 'kind') or (concurrency is null and rate is null)),
  constraint concurrency_is_positive check (concurrency > 0),
  constraint rate_is_positive check (rate > 0),
  constraint rate_has_a_period check ((rate is null) = (rate_per is null)),
  constraint pause_has_a_reason check ((paused_at is null) = (pause_reason is null) and (paused_at is null) = (paused_by is null)),
  constraint pause_has_an_end_only_if_it_is_one check (paused_until is null or paused_at is not null)
) with (fillfactor = 50);
-- What a claim asks first. As a rule it is empty.
create index controls_in_force on fenceline.controls (key) where in_force;
grant select, insert, update on fenceline.controls to fenceline_runtime;
-- What was done about one of them.
create index audit_control on fenceline.audit ((detail ->> 'control'), id) where detail ? 'control';

-- admit tells how many of the wanted jobs of a queue a worker may claim now, of
-- which kinds none, and what held it back: 'drained', 'paused', 'concurrency' or
-- 'rate'. full says that a limit leaves no place at all somewhere, again when a
-- rate allows the next claim. It is the first part of every claim.
--
-- The advisory lock is shared by all claims and taken alone by whoever changes a
-- control: when a pause or a limit has been answered, no claim is under way
-- that does not know of it. Each look below sees what is committed at that
-- moment. A claim under a limit waits for the one before it, and so counts
-- what that one took; rows are locked in the order of their keys. Running jobs
-- are counted, not booked: whatever becomes of a process, no place is lost and
-- none is given twice.
-- +goose StatementBegin
create function fenceline.admit(
  queue text, kinds text[], worker text, wanted integer,
  out allowed integer, out barred text[], out metered text[], out held text, out "full" boolean, out again interval
)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  keys    text[];
  c       record;
  limited boolean := false;
  at      timestamptz;
  taken   integer;
  room    integer;
  wait    interval;
begin
  allowed := wanted;
  barred := '{}';
  "full" := false;
  perform pg_advisory_xact_lock_shared(7378424937698260076);
  if not exists (select from fenceline.controls s where s.in_force) then
    return;
  end if;

  keys := array['all:', 'queue:' || queue, 'worker:' || worker] || array(select 'kind:' || k from unnest(kinds) k);
  at := clock_timestamp();
  for c in
    select s.scope, s.name, s.concurrency is not null or s.rate is not null as limited,
           s.paused_at is not null and (s.paused_until is null or s.paused_until > at) as paused
    from fenceline.controls s where s.key = any (keys) and s.in_force
  loop
    limited := limited or c.limited;
    continue when not c.paused;
    if c.scope = 'kind' then
      held := coalesce(held, 'paused');
      barred := barred || c.name;
    else
      held := case when c.scope = 'worker' or held = 'drained' then 'drained' else 'paused' end;
      allowed := 0;
    end if;
  end loop;
  if kinds <@ barred then
    allowed := 0;
  end if;
  if not limited or allowed = 0 then
    return;
  end if;

  for c in
    select s.* from fenceline.controls s
    where s.key = any (keys) and (s.concurrency is not null or s.rate is not null)
      and not (s.scope = 'kind' and s.name = any (barred))
    order by s.key
    for no key update
  loop
    room := wanted;
    if c.concurrency is not null then
      select count(*) into taken from fenceline.jobs j
      where j.state = 'running' and case c.scope when 'queue' then j.queue else j.kind end = c.name;
      if c.concurrency - taken < room then
        room := greatest(c.concurrency - taken, 0);
        held := coalesce(held, 'concurrency');
      end if;
    end if;
    if c.rate is not null then
      metered := metered || c.key;
      at := clock_timestamp();
      select coalesce(sum(e.n), 0), min(e.at) + c.rate_per - at into taken, wait
      from unnest(c.spent_at, c.spent) e (at, n) where e.at > at - c.rate_per;
      if c.rate - taken < room then
        room := greatest(c.rate - taken, 0);
        held := case when held in ('paused', 'drained') then held else 'rate' end;
        if room = 0 then
          again := least(again, wait);
        end if;
      end if;
    end if;
    "full" := "full" or room = 0;
    if room = 0 and c.scope = 'kind' then
      barred := barred || c.name;
    else
      allowed := least(allowed, room);
    end if;
  end loop;
  if kinds <@ barred then
    allowed := 0;
  end if;
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.admit(text, text[], text, integer) from public;
grant execute on function fenceline.admit(text, text[], text, integer) to fenceline_runtime;

-- spend books what a claim took from the rates that it is under. The claim
-- holds their rows since it was admitted.
-- +goose StatementBegin
create function fenceline.spend(metered text[], at timestamptz, kinds text[]) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  c     fenceline.controls;
  taken integer;
  total integer := 0;
  step  double precision;
  last  integer;
begin
  for c in select s.* from fenceline.controls s where s.key = any (metered) order by s.key loop
    taken := case c.scope when 'queue' then cardinality(kinds) else cardinality(array_positions(kinds, c.name)) end;
    continue when taken = 0;
    select coalesce(array_agg(e.at order by e.n), '{}'), coalesce(array_agg(e.spent order by e.n), '{}')
    into c.spent_at, c.spent
    from unnest(c.spent_at, c.spent) with ordinality e (at, spent, n) where e.at > at - c.rate_per;
    step := extract(epoch from c.rate_per) / 20;
    last := cardinality(c.spent_at);
    if last > 0 and floor(extract(epoch from c.spent_at[last]) / step) = floor(extract(epoch from at) / step) then
      c.spent_at[last] := at;
      c.spent[last] := c.spent[last] + taken;
    else
      c.spent_at := c.spent_at || at;
      c.spent := c.spent || taken;
    end if;
    update fenceline.controls s set spent_at = c.spent_at, spent = c.spent where s.key = c.key;
    total := total + taken;
  end loop;
  return total;
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.spend(text[], timestamptz, text[]) from public;
grant execute on function fenceline.spend(text[], timestamptz, text[]) to fenceline_runtime;

-- Who works. A process writes itself down when it begins, tells that it lives
-- at long distances, and says when it ends; one that stops telling is lost.
create table fenceline.workers (
  id          text primary key,
  started_at  timestamptz not null,
  seen_at     timestamptz not null,
  stopped_at  timestamptz,
  beat        interval not null, -- how often it tells
  running     bigint not null default 0,
  unsettled   bigint not null default 0, -- claims whose outcome is not stored yet, running ones included
  claimed     bigint not null default 0,  -- since it began, as those below
  completed   bigint not null default 0,
  failed      bigint not null default 0,
  released    bigint not null default 0,
  refused     bigint not null default 0,
  lost        bigint not null default 0,
  pid         bigint not null,
  host        text not null,
  version     text not null,
  program     text not null,
  queues      jsonb not null, -- slots by name
  kinds       jsonb not null, -- milliseconds of lease by name
  stopped_how text
) with (fillfactor = 50);
create index workers_there on fenceline.workers (started_at) where stopped_at is null;
create index workers_ended on fenceline.workers (stopped_at) where stopped_at is not null;
grant select, insert, update on fenceline.workers to fenceline_runtime;

-- forget_workers removes what is known of workers that ended, or were not seen,
-- for so long, at most so many at a time, and what operators had set for them.
-- +goose StatementBegin
create function fenceline.forget_workers(keep interval, most integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone text[];
begin
  with doomed as materialized (
    select w.id from fenceline.workers w
    where coalesce(w.stopped_at, w.seen_at) < now() - greatest(keep, interval '1 hour')
    order by w.id limit most
    for update skip locked
  ), removed as (
    delete from fenceline.workers w using doomed d where w.id = d.id returning w.id
  )
  select array_agg(r.id) into gone from removed r;
  delete from fenceline.controls c where c.scope = 'worker' and c.name = any (gone);
  return coalesce(cardinality(gone), 0);
end
$$;
-- +goose StatementEnd
revoke all on function fenceline.forget_workers(interval, integer) from public;
grant execute on function fenceline.forget_workers(interval, integer) to fenceline_runtime;

-- +goose Down
drop function fenceline.forget_workers(interval, integer);
drop table fenceline.workers;
drop function fenceline.spend(text[], timestamptz, text[]);
drop function fenceline.admit(text, text[], text, integer);
drop index fenceline.audit_control;
drop table fenceline.controls;
