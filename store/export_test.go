package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The statements themselves, for the tests that look at their plans.
const (
	ClaimSQL       = claimSQL
	RenewSQL       = renewSQL
	CompleteSQL    = completeSQL
	FailSQL        = failSQL
	ReleaseSQL     = releaseSQL
	ExpireSQL      = expireSQL
	PromoteSQL     = promoteSQL
	HomeRunningSQL = homeRunningSQL
	HomeExpiredSQL = homeExpiredSQL
	HomeStaleSQL   = homeStaleSQL
	SearchBound    = searchBound
	CountBound     = countBound
	CustomFrom     = custom
	VersionTable   = versionTable
)

// ListSQL is the statement that reads a page.
func ListSQL(f Filter) string { return listSQL(f) }

// Pools are the connections as the verbs use them.
func (s *Store) Pools() (all, renewals *pgxpool.Pool) { return s.pool, s.renewals }

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
