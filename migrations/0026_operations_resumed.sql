-- What a stop rule judges after an operation was resumed.

-- +goose Up

-- Null for what the program before resumed, whose rule judges from the confirmation.
alter table fenceline.operations
  add column resumed_at   timestamptz, -- when it was resumed last
  add column resumed_from bigint,      -- how many jobs had been dealt with then
  add constraint a_resumption_is_whole check ((resumed_at is null) = (resumed_from is null));

-- +goose Down

alter table fenceline.operations
  drop column resumed_at,
  drop column resumed_from;
