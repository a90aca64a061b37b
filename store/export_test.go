package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// What the tests need to know of the bounds.
const (
	SearchBound  = searchBound
	NarrowLook   = narrowLook
	CountBound   = countBound
	RecentBound  = recentBound
	RollMost     = rollMost
	VerifyMost   = verifyMost
	VersionTable = versionTable
)

// Pools are the connections as the verbs use them.
func (s *Store) Pools() (all, renewals *pgxpool.Pool) { return s.pool, s.renewals }

// Gathered is how many calls of Enqueue wait for a statement to share.
func (s *Store) Gathered() int {
	s.together.mu.Lock()
	defer s.together.mu.Unlock()
	return len(s.together.waiting)
}

// OpenTraced opens a store whose connections report what they send.
func OpenTraced(ctx context.Context, cfg Config, tracer pgx.QueryTracer) (*Store, error) {
	s, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for _, pool := range []**pgxpool.Pool{&s.pool, &s.renewals} {
		traced := (*pool).Config()
		traced.ConnConfig.Tracer = tracer
		(*pool).Close()
		if *pool, err = pgxpool.NewWithConfig(ctx, traced); err != nil {
			return nil, err
		}
	}
	return s, nil
}
