package store

import (
	"context"
	"fmt"
)

// EnsurePartitions makes the log's daily partitions for the week ahead and
// returns how many it made. Any number of processes may call it at once: one
// works. While the log is being read from end to end it leaves the missing ones
// to a later call rather than make every verb wait behind it; a transition
// whose day has no partition is kept in the rest partition.
func (s *Store) EnsurePartitions(ctx context.Context) (int, error) {
	var made int
	if err := s.pool.QueryRow(ctx, "select fenceline.ensure_partitions(7)").Scan(&made); err != nil {
		return 0, fmt.Errorf("make the log's partitions: %w", err)
	}
	return made, nil
}
