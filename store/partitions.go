package store

import (
	"context"
	"fmt"
)

// EnsurePartitions makes the log's daily partitions for the week ahead and
// returns how many were missing. Any number of processes may call it at once.
func (s *Store) EnsurePartitions(ctx context.Context) (int, error) {
	var made int
	if err := s.pool.QueryRow(ctx, "select fenceline.ensure_partitions(7)").Scan(&made); err != nil {
		return 0, fmt.Errorf("make the log's partitions: %w", err)
	}
	return made, nil
}
