-- What was told of incidents, and to whom.

-- +goose Up

-- The last thing that a target was told of an incident.
create table fenceline.notices (
  target      text        not null,
  incident_id bigint      not null,
  state       text        not null,
  severity    text        not null,
  reopened    bigint      not null,
  at          timestamptz not null,
  primary key (target, incident_id)
);
create index notices_unfinished on fenceline.notices (target, incident_id) where state <> 'resolved';
create index notices_finished on fenceline.notices (at) where state = 'resolved';

-- When a target was told anything last, and by which job.
create table fenceline.notice_targets (
  target text        primary key,
  at     timestamptz not null,
  job_id bigint      not null
);

grant select, insert, update, delete on fenceline.notices to fenceline_runtime;
grant select, insert, update on fenceline.notice_targets to fenceline_runtime;

-- +goose Down
drop table fenceline.notice_targets;
drop table fenceline.notices;
