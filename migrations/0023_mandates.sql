-- On whose right an operation is carried on.

-- +goose Up

-- The program before sets none of these: what it confirms is carried on whatever
-- becomes of who confirmed it, as it always was.
alter table fenceline.operations
  add column acts_for       text,   -- in whose name it acts: who confirmed it, or resumed it last
  add column mandate_person bigint, -- their account, looked at before each step; null for who has none
  add column mandate_token  bigint, -- the token by which they acted, likewise
  add column halt_code      text,   -- what halted it
  add constraint a_token_has_a_person check (mandate_token is null or mandate_person is not null);

-- +goose Down

alter table fenceline.operations
  drop column acts_for,
  drop column mandate_person,
  drop column mandate_token,
  drop column halt_code;
