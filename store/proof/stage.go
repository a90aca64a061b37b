package proof

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fenceline/fenceline/store"
)

// Where the jobs of a proof live.
const (
	kind  = "proof"
	queue = "proof"
)

const busy = 2 * time.Minute

// Stage is a database on which histories are played, one job at a time, so that
// what a sweep did can be told from its count. It belongs to one goroutine.
type Stage struct {
	store *store.Store
	owner *pgxpool.Pool // the rest of the world: moves rows, holds locks, looks behind
}

// OpenStage opens a stage on a migrated database that nothing else uses. Both
// addresses name it: storeURL is how the store under test connects, ownerURL
// the way of the schema's owner.
func OpenStage(ctx context.Context, storeURL, ownerURL string) (*Stage, error) {
	s, err := store.Open(ctx, store.Config{URL: storeURL, MaxConns: 6, RenewalConns: 2,
		// A machine that is busy otherwise must not look like a broken protocol.
		StatementTimeout: busy, LockTimeout: busy, IdleInTransaction: busy})
	if err != nil {
		return nil, err
	}
	owner, err := openOwner(ctx, ownerURL)
	if err != nil {
		s.Close()
		return nil, err
	}
	stage := &Stage{store: s, owner: owner}
	if err := bystanders(ctx, ownerURL); err != nil {
		stage.Close()
		return nil, err
	}
	return stage, nil
}

func openOwner(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	cfg.MaxConns = 3
	return pgxpool.NewWithConfig(ctx, cfg)
}

// Close gives every connection back.
func (s *Stage) Close() {
	s.store.Close()
	s.owner.Close()
}

// bystanders are jobs that no call of a history may touch: of another kind, in
// another queue, running under a long lease, waiting for a far due time. Each
// stands before the history's job in the order in which rows are taken.
func bystanders(ctx context.Context, url string) error {
	s, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1, RenewalConns: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	running := store.Request{Kind: kind, Queue: "held", Priority: -5}
	for _, r := range []store.Request{
		running,
		{Kind: "other", Queue: queue, Priority: -5},
		{Kind: kind, Queue: "elsewhere", Priority: -5},
		{Kind: kind, Queue: queue, Priority: -5, RunAt: time.Now().Add(24 * time.Hour)},
	} {
		if _, err := s.Enqueue(ctx, r); err != nil {
			return err
		}
	}
	held, err := s.Claim(ctx, store.ClaimParams{
		Worker: "bystander", Queue: running.Queue, Kinds: []store.KindLease{{Kind: kind, Lease: 24 * time.Hour}}, AttemptIDs: []uuid.UUID{uuid.New()},
	})
	if err == nil && len(held) != 1 {
		err = fmt.Errorf("claimed %d jobs of a fresh database, want 1", len(held))
	}
	return err
}

// tidy takes the job that a history left behind out of the way of the next
// one's claims and sweeps.
func (s *Stage) tidy(ctx context.Context) error {
	_, err := s.owner.Exec(ctx, `update fenceline.jobs set state = 'terminated', finished_at = clock_timestamp()
		where queue = $1 and kind = $2 and state in ('available', 'running', 'retryable', 'scheduled')
		  and (priority <> -5 or state = 'running')`, queue, kind)
	return err
}

// settle waits until no call whose answer was lost can happen any more: its
// session has left the server. On a busy machine a claim may otherwise be read
// from its socket when the next history has begun, and take that one's job.
func (s *Stage) settle(ctx context.Context) error {
	for {
		general, renewals := s.store.Connections()
		var sessions int32
		err := s.owner.QueryRow(ctx, `select count(*) from pg_stat_activity
			where datname = current_database() and application_name = 'fenceline'`).Scan(&sessions)
		given := general.AcquiredConns() + renewals.AcquiredConns() // back only when they are closed
		if err != nil || given == 0 && sessions <= general.TotalConns()+renewals.TotalConns() {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// names turns attempts' numbers into ids and back, for one history.
type names struct{ salt uint64 }

func newNames() names { return names{rand.Uint64()} }

func (n names) id(attempt int) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], n.salt)
	binary.BigEndian.PutUint64(id[8:], uint64(attempt))
	return id
}

// number is 0 for no attempt and -1 for one of another history.
func (n names) number(id uuid.UUID) int {
	switch {
	case id == uuid.Nil:
		return 0
	case binary.BigEndian.Uint64(id[:8]) != n.salt:
		return -1
	}
	return int(binary.BigEndian.Uint64(id[8:]))
}
