-- How far the log was checked by itself, and what in it cannot be.

-- +goose Up

-- One row: up to where the log is checked, in the order of (xid, id), always
-- behind the oldest transaction that may still write.
create table fenceline.verification (
  only_row     boolean primary key default true check (only_row),
  xid          xid8 not null default '0',
  id           bigint not null default 0,
  n            bigint not null default 0, -- transitions that were checked
  beginless    bigint not null default 0, -- of those, what nothing can be said of: the log before it had been removed with its job
  violations   bigint not null default 0,
  at           timestamptz, -- when the last step was
  since        timestamptz, -- the time of the oldest transition that was checked
  through      timestamptz, -- up to when all is checked
  missed_from  timestamptz, -- what the log held from here
  missed_until timestamptz  -- until here may have been removed before it was checked
) with (fillfactor = 50);
insert into fenceline.verification default values;

-- What no correct log can hold. Nothing here is ever changed or removed; the
-- first thousand are kept.
create table fenceline.violations (
  transition_id bigint not null,
  job_id        bigint not null,
  xid           xid8 not null default pg_current_xact_id(), -- who found it
  at            timestamptz not null,                       -- of the transition
  found_at      timestamptz not null default clock_timestamp(),
  stale         boolean not null, -- a write of an attempt without authority was accepted
  invariant     text not null,
  message       text not null,
  primary key (transition_id, invariant)
);
create index violations_found on fenceline.violations (found_at, transition_id, invariant);

grant select, update on fenceline.verification to fenceline_runtime;
grant select, insert on fenceline.violations to fenceline_runtime;

-- +goose Down
drop table fenceline.violations;
drop table fenceline.verification;
