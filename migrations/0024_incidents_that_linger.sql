-- When something was found last of what is resolved, apart from when it counted.

-- +goose Up

alter table fenceline.incidents
  add column lingers_at timestamptz; -- a look after the resolve still found it, and nothing of it had happened again

-- +goose Down

update fenceline.incidents set found_at = lingers_at where lingers_at > found_at;
alter table fenceline.incidents drop column lingers_at;
