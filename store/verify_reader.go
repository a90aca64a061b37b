package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// reader goes through a cursor row by row.
type reader[T any] struct {
	tx    pgx.Tx
	fetch string
	scan  pgx.RowToFunc[T]
	rows  []T
	at    int
	held  *T
	done  bool
}

func (r *reader[T]) next(ctx context.Context) (T, bool, error) {
	var zero T
	if r.held != nil {
		t := *r.held
		r.held = nil
		return t, true, nil
	}
	if r.at == len(r.rows) {
		if r.done {
			return zero, false, nil
		}
		rows, err := r.tx.Query(ctx, r.fetch)
		if err != nil {
			return zero, false, err
		}
		if r.rows, err = pgx.CollectRows(rows, r.scan); err != nil {
			return zero, false, err
		}
		r.at = 0
		if len(r.rows) == 0 {
			r.done = true
			return zero, false, nil
		}
	}
	t := r.rows[r.at]
	r.at++
	return t, true, nil
}

func (r *reader[T]) unread(t T, have bool) {
	if have {
		r.held = &t
	}
}
