-- What stood in the queues, once a minute: no count of the log tells it.

-- +goose Up

-- The row of the empty queue says that somebody looked, and when.
create table fenceline.queue_minutes (
  minute    timestamptz not null,
  at        timestamptz not null,     -- when it was read: soon after the minute began
  waiting   bigint not null,
  running   bigint not null,
  oldest_ms bigint,                   -- how long the job was due that was due longest; null where none waited
  capped    boolean not null,         -- more waited than were counted
  queue     text not null,
  primary key (minute, queue)
);
grant select, insert, update, delete on fenceline.queue_minutes to fenceline_runtime;

-- +goose Down
drop table fenceline.queue_minutes;
