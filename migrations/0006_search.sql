-- What finding jobs needs: lists of ended jobs in the order of their end, the
-- jobs that lost a lease or had a write refused, and searches that are kept.

-- +goose Up

-- Both at once and before anything is made: whoever writes holds both, and
-- would wait for the one while this waits for the other.
lock table fenceline.transitions in share row exclusive mode;
lock table fenceline.jobs in access exclusive mode;

-- One more entry for each job that ends, at the right edge of the index; a
-- claim, a renewal and an enqueue write nothing here.
create index jobs_finished on fenceline.jobs (state, finished_at, id)
  where state in ('completed', 'discarded', 'terminated');

-- The order of a list of what is due, with the id to part jobs that are due at
-- the same moment. It takes the place of the index on the time alone.
create index jobs_due_order on fenceline.jobs (run_at, id) where state in ('scheduled', 'retryable');
drop index fenceline.jobs_due;
alter index fenceline.jobs_due_order rename to jobs_due;

-- The jobs of which an attempt lost its authority. Few rows; no other
-- transition writes here.
create index transitions_lost_jobs on fenceline.transitions (type, job_id) where type in ('expired', 'rejected');

-- A search in args holds what jobs were given: it is kept here, and addresses
-- hold its id.
create table fenceline.searches (
  id    uuid primary key,
  at    timestamptz not null default clock_timestamp(),
  actor text not null,
  query text not null
);
create index searches_at on fenceline.searches (at);
grant select, insert, delete on fenceline.searches to fenceline_runtime;

-- +goose Down
drop table fenceline.searches;
drop index fenceline.transitions_lost_jobs;
create index jobs_due_time on fenceline.jobs (run_at) where state in ('scheduled', 'retryable');
drop index fenceline.jobs_due;
alter index fenceline.jobs_due_time rename to jobs_due;
drop index fenceline.jobs_finished;
