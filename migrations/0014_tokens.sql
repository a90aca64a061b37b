-- What programs prove with that they may act for a person.

-- +goose Up

create table fenceline.tokens (
  id         bigint generated always as identity primary key,
  person_id  bigint not null references fenceline.people on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at    timestamptz,                -- of the last use, to a minute
  name       text not null,
  token_hash text not null unique,       -- the token itself is with the program alone
  role       text not null,
  rights     text[] not null default '{}',
  queues     text[],                     -- where it may act; null for everywhere
  constraint role_is_known check (role in ('viewer', 'operator', 'admin')),
  constraint rights_are_known check (rights <@ array['reveal', 'bulk']),
  constraint name_of_a_person unique (person_id, name)
);
grant select, insert, update, delete on fenceline.tokens to fenceline_runtime;
grant usage on all sequences in schema fenceline to fenceline_runtime;

-- +goose Down
drop table fenceline.tokens;
