-- Counts of the log by the minute, so that what looks back over hours reads
-- neither the jobs nor the log.

-- +goose Up

-- Whose clock: the minute of the transition's own time, in UTC. For requeued and
-- terminated the reason is empty, because it holds an operator's words.
create table fenceline.rollups (
  minute      timestamptz not null,
  n           bigint not null,
  marked      bigint not null, -- claimed: of a later generation than the first; renewed: in the last quarter of the lease
  spans       bigint not null, -- how many of n the next two are told from
  span_ms     bigint not null, -- claimed: from due to claimed; completed, failed, expired: from the claim; together
  span_max_ms bigint not null, -- the longest of them
  type        fenceline.transition_type not null,
  queue       text not null,
  kind        text not null,
  reason      text not null,
  primary key (minute, queue, kind, type, reason)
) with (fillfactor = 80);

-- Failures by the fingerprint of their error, which shows nothing of its text.
create table fenceline.rollup_errors (
  minute      timestamptz not null,
  n           bigint not null,
  job_id      bigint not null, -- the lowest of them
  kind        text not null,
  fingerprint text not null,
  primary key (kind, fingerprint, minute)
) with (fillfactor = 80);
create index rollup_errors_minute on fenceline.rollup_errors (minute);

-- One row: up to where the log is counted, in the order of (xid, id), always
-- behind the oldest transaction that may still write.
create table fenceline.rollup_position (
  only_row boolean primary key default true check (only_row),
  xid      xid8 not null default '0',
  id       bigint not null default 0,
  since    timestamptz not null default '-infinity', -- what is older was counted before the last rebuild
  at       timestamptz -- when it was counted last
) with (fillfactor = 50);
insert into fenceline.rollup_position default values;

grant select, insert, update, delete on fenceline.rollups, fenceline.rollup_errors to fenceline_runtime;
grant select, update on fenceline.rollup_position to fenceline_runtime;

-- +goose Down
drop table fenceline.rollup_position;
drop table fenceline.rollup_errors;
drop table fenceline.rollups;
