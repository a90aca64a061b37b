-- People who sign in to the console, and how far each of them got.

-- +goose Up

create table fenceline.people (
  id         bigint generated always as identity primary key,
  created_at timestamptz not null default clock_timestamp(),
  signed_at  timestamptz,                -- of the last sign-in
  name       text not null unique,       -- who acts, in transitions and in the audit
  role       text not null,
  rights     text[] not null default '{}',
  queues     text[],                     -- where they may act; null for everywhere
  password   text,                       -- argon2id in the PHC form; null for who signs in elsewhere
  issuer     text,                       -- the OpenID provider that vouches for them
  subject    text,                       -- and under which name
  constraint role_is_known check (role in ('viewer', 'operator', 'admin')),
  constraint rights_are_known check (rights <@ array['reveal', 'bulk']),
  constraint subject_of_an_issuer check ((issuer is null) = (subject is null)),
  constraint person_of_an_issuer unique (issuer, subject)
);

-- One row for each browser that is signed in, or about to be. The token itself
-- is with the browser alone.
create table fenceline.sign_ins (
  token_hash text primary key,
  person_id  bigint references fenceline.people on delete cascade, -- null before the sign-in is done
  created_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null, -- unless it is used
  ends_at    timestamptz not null, -- however much it is used
  address    text,
  agent      text,
  data       bytea not null
);
create index sign_ins_person on fenceline.sign_ins (person_id);
create index sign_ins_expiry on fenceline.sign_ins (expires_at);

-- How often somebody tried of late, by account and by address.
create table fenceline.brakes (
  key     text primary key,
  tries   bigint not null,
  at      timestamptz not null,
  held_to timestamptz not null
);

-- What the first person proves with that the console is theirs.
create table fenceline.setup_codes (
  code_hash  text primary key,
  expires_at timestamptz not null
);

grant select, insert, update, delete on fenceline.people, fenceline.sign_ins, fenceline.brakes, fenceline.setup_codes to fenceline_runtime;
grant usage on all sequences in schema fenceline to fenceline_runtime;

-- +goose Down
drop table fenceline.setup_codes;
drop table fenceline.brakes;
drop table fenceline.sign_ins;
drop table fenceline.people;
