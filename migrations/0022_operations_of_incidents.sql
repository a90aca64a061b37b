-- +goose Up

-- Operations by what their search begins with: an incident finds those that
-- were asked for by its id.
create index operations_filter on fenceline.operations (left(filter, 40)) where state <> 'preview';

-- +goose Down

drop index fenceline.operations_filter;
