-- Accounts that are closed for a while, and which state of one an admin saw.

-- +goose Up
alter table fenceline.people
  add column revision    bigint not null default 1, -- grows with what the person may do
  add column disabled_at timestamptz;               -- may neither sign in nor act by a token since then

-- +goose Down
-- The program before knows no disabled accounts: theirs lose what lets them in.
delete from fenceline.tokens t using fenceline.people p where p.id = t.person_id and p.disabled_at is not null;
update fenceline.people set password = null where disabled_at is not null;
alter table fenceline.people
  drop column revision,
  drop column disabled_at;
