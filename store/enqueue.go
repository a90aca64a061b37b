package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const enqueueSQL = `
select e.id, e.existing
from fenceline.enqueue($1, $2::text::jsonb, nullif($3, ''), $4, $5, $6, $7, $8, nullif($9, '')) e`

// The same with the enqueuer's trace, from which the row's default takes it. The
// setting lasts as long as the transaction, and the function's first argument
// waits for it.
const enqueueTracedSQL = `
select e.id, e.existing
from (select set_config('fenceline.traceparent', $10, true) as trace) c
cross join lateral fenceline.enqueue($1 || left(c.trace, 0), $2::text::jsonb, nullif($3, ''), $4, $5, $6, $7, $8, nullif($9, '')) e`

// Enqueue stores one job and its transition. A repeat of the same request with
// the same key returns the first job; another request with that key is refused
// with a *[KeyConflictError]; a bad field with an *[InvalidError]. After an
// error that is neither, a request with a key can be repeated safely. Calls that
// come at once share statements and commits; none waits for more to come.
func (s *Store) Enqueue(ctx context.Context, r Request) (Enqueued, error) {
	r, err := r.normal()
	switch {
	case err != nil:
		return Enqueued{}, err
	case gathers(r):
		return s.enqueueTogether(ctx, r)
	}
	return enqueueNormal(ctx, s.pool, r)
}

// EnqueueTx is [Store.Enqueue] inside the caller's own transaction: the job
// exists if and only if that transaction commits. The caller's role needs the
// right to execute fenceline.enqueue. After a refusal by the database the
// transaction must be rolled back.
func (s *Store) EnqueueTx(ctx context.Context, tx pgx.Tx, r Request) (Enqueued, error) {
	r, err := r.normal()
	if err != nil {
		return Enqueued{}, err
	}
	return enqueueNormal(ctx, tx, r)
}

func enqueueNormal(ctx context.Context, q querier, r Request) (Enqueued, error) {
	sql, args := enqueueSQL, []any{r.Kind, string(r.Args), r.Key, r.Queue, int(r.Priority), orNoTime(r.RunAt), r.MaxAttempts, r.Tags, r.Actor}
	if r.Trace != "" {
		sql, args = enqueueTracedSQL, append(args, r.Trace)
	}
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return Enqueued{}, fmt.Errorf("enqueue: %w", err)
	}
	out, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Enqueued])
	if err != nil {
		return Enqueued{}, enqueueError(r, err)
	}
	return out, nil
}

// enqueueError turns what fenceline.enqueue raised into this package's errors.
func enqueueError(r Request, err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case "FL409":
			id, _ := strconv.ParseInt(pgErr.Detail, 10, 64)
			return &KeyConflictError{Kind: r.Kind, Key: r.Key, JobID: id}
		case "FL422":
			return &InvalidError{Field: pgErr.ColumnName, Message: pgErr.Detail}
		}
	}
	return fmt.Errorf("enqueue: %w", err)
}
