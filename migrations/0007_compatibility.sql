-- Which older programs may work on this schema, so that processes can be
-- replaced one by one while jobs run.

-- +goose Up

-- The one row names the oldest version whose programs still may. A migration
-- that takes something away from them raises it; one that only adds leaves it.
create table fenceline.compatibility (
  one    boolean primary key default true check (one),
  oldest bigint not null
);
insert into fenceline.compatibility (oldest) values (7);
grant select on fenceline.compatibility to fenceline_runtime;

-- +goose Down
drop table fenceline.compatibility;
