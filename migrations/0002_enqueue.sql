-- Enqueueing by SQL, for any language, inside the caller's own transaction.

-- +goose Up

-- What makes two requests the same request: everything that decides what the
-- job does. The due time is left out, so that a repeat of "in five minutes"
-- finds the first one's job.
-- +goose StatementBegin
create function fenceline.request_hash(
  queue text, args jsonb, priority integer, max_attempts integer, tags text[]
) returns bytea
language sql immutable parallel safe as $$
  select sha256(convert_to(
    jsonb_build_array(queue, args, priority, max_attempts, coalesce(to_jsonb(tags), '[]'))::text, 'UTF8'))
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function fenceline.refuse(field text, problem text) returns void
language plpgsql as $$
begin
  raise exception using errcode = 'FL422', message = field || ': ' || problem, column = field, detail = problem;
end
$$;
-- +goose StatementEnd

-- fenceline.enqueue stores one job and its transition. It is part of the
-- caller's transaction: rolled back, there is no job, no transition and no
-- notification. A repeat with the same kind and key returns the first job
-- (existing = true) when the request is the same, and fails with SQLSTATE FL409
-- when it is not. A bad argument fails with SQLSTATE FL422 and names the
-- argument in the error's column field. With notify => false no listener is
-- woken: workers find the job at their next poll.
-- +goose StatementBegin
create function fenceline.enqueue(
  kind         text,
  args         jsonb default '{}',
  key          text default null,
  queue        text default 'default',
  priority     integer default 0,
  run_at       timestamptz default null,
  max_attempts integer default 10,
  tags         text[] default null,
  actor        text default null,
  notify       boolean default true
) returns table (id bigint, existing boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  new_id   bigint;
  hash     bytea;
  old_hash bytea;
  size     integer;
  at       timestamptz := clock_timestamp();
  due      timestamptz := coalesce(run_at, at);
  entered  fenceline.job_state := case when due > at then 'scheduled' else 'available' end;
  who      text := coalesce(actor, 'sql:' || session_user);
  control  constant text := E'[\\u0001-\\u001f\\u007f-\\u009f]';
begin
  if kind is null or kind = '' then perform fenceline.refuse('kind', 'is required'); end if;
  if octet_length(kind) > 1024 then perform fenceline.refuse('kind', 'is longer than 1024 bytes'); end if;
  if kind ~ control then perform fenceline.refuse('kind', 'holds a control character'); end if;
  if queue is null or queue = '' then perform fenceline.refuse('queue', 'must not be empty'); end if;
  if octet_length(queue) > 1024 then perform fenceline.refuse('queue', 'is longer than 1024 bytes'); end if;
  if queue ~ control then perform fenceline.refuse('queue', 'holds a control character'); end if;
  if key = '' then perform fenceline.refuse('key', 'must not be empty'); end if;
  if octet_length(key) > 1024 then perform fenceline.refuse('key', 'is longer than 1024 bytes'); end if;
  if key ~ control then perform fenceline.refuse('key', 'holds a control character'); end if;
  if args is null then perform fenceline.refuse('args', 'must not be null'); end if;
  size := octet_length(args::text);
  if size > 1048576 then perform fenceline.refuse('args', 'is larger than 1048576 bytes'); end if;
  -- What has so many levels has at least two brackets for each.
  if size > 2000 and args @? 'strict $.**{1000} ? (@.type() == "array" || @.type() == "object")' then
    perform fenceline.refuse('args', 'is nested deeper than 1000');
  end if;
  if priority is null or priority not between -32768 and 32767 then
    perform fenceline.refuse('priority', 'must be between -32768 and 32767');
  end if;
  if max_attempts is null or max_attempts not between 1 and 1000000 then
    perform fenceline.refuse('max_attempts', 'must be between 1 and 1000000');
  end if;
  if due < '1970-01-01 00:00:00Z' or due >= '10000-01-01 00:00:00Z' then
    perform fenceline.refuse('run_at', 'must lie between the years 1970 and 9999');
  end if;
  if cardinality(tags) > 32 then perform fenceline.refuse('tags', 'has more than 32 entries'); end if;
  if array_ndims(tags) > 1 then perform fenceline.refuse('tags', 'must be a plain list'); end if;
  if exists (select from unnest(tags) as t where t is null or t = '' or octet_length(t) > 255) then
    perform fenceline.refuse('tags', 'has an entry that is empty or longer than 255 bytes');
  end if;
  if exists (select from unnest(tags) as t where t ~ control) then
    perform fenceline.refuse('tags', 'has an entry that holds a control character');
  end if;
  if octet_length(who) > 255 then perform fenceline.refuse('actor', 'is longer than 255 bytes'); end if;
  if who ~ control then perform fenceline.refuse('actor', 'holds a control character'); end if;

  if cardinality(tags) = 0 then tags := null; end if;
  if key is not null then
    hash := fenceline.request_hash(queue, args, priority, max_attempts, tags);
  end if;
  loop
    insert into fenceline.jobs as j
      (created_at, run_at, state, max_attempts, priority, kind, queue, args, key, request_hash, enqueued_by, tags)
    values
      (at, due, entered, max_attempts, priority::smallint, kind, queue, args, key, hash, who, tags)
    on conflict do nothing
    returning j.id into new_id;
    exit when new_id is not null;

    -- The other inserter's row is visible only to a new statement.
    select j.id, j.request_hash into new_id, old_hash from fenceline.jobs j
    where j.kind = enqueue.kind and j.key = enqueue.key;
    if new_id is not null then
      if old_hash is distinct from hash then
        raise exception using errcode = 'FL409', column = 'key', detail = new_id::text,
          message = format('key: belongs to job %s, which was enqueued by a different request', new_id);
      end if;
      return query select new_id, true;
      return;
    end if;
  end loop;

  insert into fenceline.transitions
    (job_id, at, revision, run_at, type, to_state, attempts_used, max_attempts, kind, queue, actor)
  values
    (new_id, at, 1, due, 'enqueued', entered, 0, max_attempts, kind, queue, who);
  if notify then
    perform pg_notify('fenceline_transitions', pg_current_xact_id()::text);
    if entered = 'available' then
      perform pg_notify('fenceline_work', '');
    end if;
  end if;
  return query select new_id, false;
end
$$;
-- +goose StatementEnd

revoke all on function fenceline.enqueue(text, jsonb, text, text, integer, timestamptz, integer, text[], text, boolean) from public;
grant execute on function fenceline.enqueue(text, jsonb, text, text, integer, timestamptz, integer, text[], text, boolean) to fenceline_runtime;

-- +goose Down
drop function fenceline.enqueue(text, jsonb, text, text, integer, timestamptz, integer, text[], text, boolean);
drop function fenceline.refuse(text, text);
drop function fenceline.request_hash(text, jsonb, integer, integer, text[]);
