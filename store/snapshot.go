package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// plannedOnce has the server keep one plan for each statement of a transaction,
// whatever its arguments. The log of a month has some forty partitions, and
// planning a statement on them anew takes longer than doing it.
const plannedOnce = `set local plan_cache_mode = force_generic_plan`

// beginSnapshot begins a look at one moment.
const beginSnapshot = `begin isolation level repeatable read, read only; ` + plannedOnce

// snapshot reads several parts as they were at one moment.
func (s *Store) snapshot(ctx context.Context, parts ...func(context.Context, pgx.Tx) error) error {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginSnapshot})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	for _, part := range parts {
		if err := part(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
