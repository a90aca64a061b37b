package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const bareSchema = `
create table bare (id bigint generated always as identity primary key, state smallint not null default 0, args jsonb not null default '{}') with (fillfactor = 80);
create index bare_waiting on bare (id) where state = 0`

const bareClaim = `
with picked as materialized (select id from bare where state = 0 order by id limit $1 for update skip locked)
update bare b set state = 1 from picked p where b.id = p.id returning b.id, b.args`

const bareComplete = `update bare set state = 2 where id = any ($1::bigint[])`

// bareQueue is what PostgreSQL alone allows: rows claimed with skip locked and
// marked as done, in batches, without fence, lease, log, retries or handlers.
func bareQueue() *contestant {
	return &contestant{
		name: "bare skip locked", settings: "batches of 500", limit: time.Minute, keeps: true,
		schema: func(ctx context.Context, url string) error { return execute(ctx, url, bareSchema) },
		bulk: func(ctx context.Context, url string, n int) (w worked, err error) {
			err = withPool(ctx, url, 1, func(pool *pgxpool.Pool) error {
				w, err = inBulk(n, func(n int) error {
					_, err := pool.CopyFrom(ctx, pgx.Identifier{"bare"}, []string{"args"}, pgx.CopyFromSlice(n, func(int) ([]any, error) { return []any{"{}"}, nil }))
					return err
				})
				return err
			})
			return w, err
		},
		single: func(ctx context.Context, url string, clients, n int) (w worked, err error) {
			err = withPool(ctx, url, int32(clients), func(pool *pgxpool.Pool) error {
				w, err = fromClients(clients, n, func() error {
					_, err := pool.Exec(ctx, "insert into bare (args) values ($1)", "{}")
					return err
				})
				return err
			})
			return w, err
		},
		drain: func(ctx context.Context, url string, n int, _ time.Duration) (w worked, err error) {
			err = withPool(ctx, url, 2, func(pool *pgxpool.Pool) error {
				const batch = 500
				w, err = fromClients(2, (n+batch-1)/batch, func() error {
					rows, err := pool.Query(ctx, bareClaim, batch)
					if err != nil {
						return err
					}
					var ids []int64
					var id int64
					var args []byte
					if _, err := pgx.ForEachRow(rows, []any{&id, &args}, func() error { ids = append(ids, id); return nil }); err != nil {
						return err
					}
					_, err = pool.Exec(ctx, bareComplete, ids)
					return err
				})
				w.Jobs = n
				return err
			})
			return w, err
		},
	}
}
