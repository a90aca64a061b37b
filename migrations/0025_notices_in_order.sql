-- Which job told a target of an incident last: the next word of that incident
-- waits for it, or it could be heard before the one before it.

-- +goose Up

-- Null for what the program before told, which waits for nothing.
alter table fenceline.notices add column job_id bigint;

-- +goose Down

alter table fenceline.notices drop column job_id;
