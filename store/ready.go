package store

import (
	"context"
	"errors"
	"fmt"
)

// ErrBusy says that every connection of the pool stayed in use for as long as
// the caller would wait.
var ErrBusy = errors.New("every connection to the database is in use")

// Ready asks whether verbs could be carried out now: a connection is free, the
// database answers on it, and the schema fits this program. The error matches
// [ErrBusy] or [ErrSchema] when that is what is wrong.
func (s *Store) Ready(ctx context.Context) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		if stat := s.pool.Stat(); stat.AcquiredConns() >= stat.MaxConns() {
			return ErrBusy
		}
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	_, _, err = SchemaVersion(ctx, conn)
	return err
}
