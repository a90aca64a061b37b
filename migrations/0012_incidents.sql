-- Incidents: what is wrong, since when, who has it, and what was done.

-- +goose Up

create table fenceline.incidents (
  id            bigint generated always as identity primary key,
  revision      bigint not null default 1,
  opened_at     timestamptz not null,
  found_at      timestamptz not null, -- when its rule found it last
  changed_at    timestamptz not null,
  resolved_at   timestamptz,
  snoozed_until timestamptz,
  owned_until   timestamptz,          -- when the acknowledgement ends; null for never
  resolved_in   pg_snapshot,          -- what had committed when it was resolved: what has not may open it again
  job_id        bigint,
  n             bigint not null,
  reopened      bigint not null default 0,
  state         text not null check (state in ('open', 'acknowledged', 'resolved')),
  severity      text not null check (severity in ('low', 'medium', 'high')),
  rule          text not null,
  scope         text not null,
  what          text not null,
  search        text not null,
  kind          text not null,        -- of its evidence; empty for any
  queue         text not null,
  fingerprint   text not null,
  types         text[] not null,      -- the transitions that are its evidence
  owner         text,
  constraint resolved_has_its_moment check ((state = 'resolved') = (resolved_at is not null and resolved_in is not null)),
  constraint acknowledged_has_an_owner check (state <> 'acknowledged' or owner is not null)
);
-- At most one of a rule and scope is not resolved.
create unique index incidents_active on fenceline.incidents (rule, scope) where state <> 'resolved';
create index incidents_past on fenceline.incidents (rule, scope, id);
create index incidents_resolved on fenceline.incidents (resolved_at) where state = 'resolved';

-- What people and the watch did. Nothing here is ever changed.
create table fenceline.incident_entries (
  id          bigint generated always as identity primary key,
  incident_id bigint not null,
  revision    bigint not null,
  at          timestamptz not null default clock_timestamp(),
  action      text not null,
  actor       text not null,
  reason      text not null,
  until       timestamptz
);
create index incident_entries_of on fenceline.incident_entries (incident_id, id);

-- One row: when the rules were judged last, so that of many processes one judges.
create table fenceline.watch_turn (
  only_row boolean primary key default true check (only_row),
  at       timestamptz not null default '-infinity'
) with (fillfactor = 50);
insert into fenceline.watch_turn default values;

grant select, update on fenceline.watch_turn to fenceline_runtime;
grant select, insert, update on fenceline.incidents to fenceline_runtime;
grant select, insert on fenceline.incident_entries to fenceline_runtime;
grant usage on all sequences in schema fenceline to fenceline_runtime;

-- +goose Down
drop table fenceline.watch_turn;
drop table fenceline.incident_entries;
drop table fenceline.incidents;
