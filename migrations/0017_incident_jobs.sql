-- The jobs that an incident touches, and incidents that turned out to be part of
-- another one.

-- +goose Up

-- From when on the jobs of the evidence are kept; null where the incident has
-- none, or where they were old and have been removed.
alter table fenceline.incidents add column jobs_since timestamptz;
-- The incident that this one is part of: what its rule finds is about that one.
alter table fenceline.incidents add column merged_into bigint references fenceline.incidents;
create index incidents_merged on fenceline.incidents (merged_into, id) where merged_into is not null;

-- The jobs of the transitions that are an incident's evidence, up to 100,000.
create table fenceline.incident_jobs (
  incident_id bigint not null,
  job_id      bigint not null,
  primary key (incident_id, job_id)
);
-- How many they are.
create table fenceline.incident_touches (
  incident_id bigint primary key,
  n           bigint not null
);
grant select, insert, delete on fenceline.incident_jobs to fenceline_runtime;
grant select, insert, update, delete on fenceline.incident_touches to fenceline_runtime;

-- +goose Down
drop table fenceline.incident_touches;
drop table fenceline.incident_jobs;
drop index fenceline.incidents_merged;
alter table fenceline.incidents drop column merged_into;
alter table fenceline.incidents drop column jobs_since;
