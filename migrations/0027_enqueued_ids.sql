-- Between which ids the jobs of a minute lie, so that a search by the time of
-- enqueueing reads them by id: an index on that time would cost every write of a job.

-- +goose Up

-- Whose clock: created_at of the jobs, in UTC. A range may hold ids that no job of
-- the minute has, and never leaves one out.
create table fenceline.enqueued_ids (
  minute   timestamptz primary key,
  least_id bigint not null,
  most_id  bigint not null
) with (fillfactor = 80);

-- One row: up to where the log was read for it, in the order of (xid, id), always
-- behind the oldest transaction that may still write.
create table fenceline.enqueued_ids_position (
  only_row boolean primary key default true check (only_row),
  xid      xid8 not null,
  id       bigint not null
) with (fillfactor = 50);

-- What this reads is all that was committed before xmin; the log tells the rest.
insert into fenceline.enqueued_ids_position (xid, id) values (pg_snapshot_xmin(pg_current_snapshot()), 0);
insert into fenceline.enqueued_ids (minute, least_id, most_id)
select date_trunc('minute', j.created_at, 'UTC'), min(j.id), max(j.id) from fenceline.jobs j group by 1;

grant select, insert, update, delete on fenceline.enqueued_ids to fenceline_runtime;
grant select, update on fenceline.enqueued_ids_position to fenceline_runtime;

-- +goose Down
drop table fenceline.enqueued_ids_position;
drop table fenceline.enqueued_ids;
