package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
)

// WorkerStart is what a worker says of itself when it begins.
type WorkerStart struct {
	ID      string // new with each start
	Host    string
	PID     int
	Program string // the program's name
	Version string // the program's version
	Queues  map[string]int
	Kinds   []KindLease
	Beat    time.Duration // how often it will say that it lives
}

// WorkerCounts is what a worker says of itself now. All but the first two count
// from its beginning.
type WorkerCounts struct {
	Running   int // handlers
	Unsettled int // claims whose outcome is not stored yet, running ones included
	Claimed   int64
	Completed int64
	Failed    int64
	Released  int64
	Refused   int64 // writes refused as stale
	Lost      int64 // attempts that lost their lease or were taken away
}

// backAgain takes back that a worker was cut off: it lives, on a database that
// runs again. A sign of life that the database took while it stopped is none.
const backAgain = `stopped_at = case when ` + isBackAgain + ` then null else w.stopped_at end, stopped_how = case when ` + isBackAgain + ` then null else w.stopped_how end`

const isBackAgain = `w.stopped_how = 'cut off' and w.stopped_at < clock_timestamp() - interval '5 seconds'`

const registerSQL = `
insert into fenceline.workers as w
  (id, started_at, seen_at, beat, pid, host, version, program, queues, kinds)
select $1, c.at, c.at, $2::bigint * interval '1 microsecond', $3, $4, $5, $6, $7::jsonb, $8::jsonb
from (select clock_timestamp() as at) c
on conflict (id) do update set seen_at = excluded.seen_at, ` + backAgain + `
returning ` + notified

// RegisterWorker writes a worker down as alive. A repeat is a sign of life.
func (s *Store) RegisterWorker(ctx context.Context, w WorkerStart) error {
	kinds := make(map[string]int64, len(w.Kinds))
	for _, k := range w.Kinds {
		kinds[k.Kind] = k.Lease.Milliseconds()
	}
	slots := make(map[string]int, len(w.Queues))
	maps.Copy(slots, w.Queues)
	queues, err := json.Marshal(slots)
	if err != nil {
		return fmt.Errorf("register the worker: %w", err)
	}
	leases, err := json.Marshal(kinds)
	if err != nil {
		return fmt.Errorf("register the worker: %w", err)
	}
	_, err = s.pool.Exec(ctx, registerSQL, w.ID, w.Beat.Microseconds(), w.PID,
		cut(storable(w.Host), 255), cut(storable(w.Version), 255), cut(storable(w.Program), 255), string(queues), string(leases))
	if err != nil {
		return fmt.Errorf("register the worker: %w", err)
	}
	return nil
}

const beatSQL = `
update fenceline.workers w
set seen_at = clock_timestamp(), running = $2, unsettled = $3, claimed = $4, completed = $5, failed = $6,
    released = $7, refused = $8, lost = $9, ` + backAgain + `
where w.id = $1
returning exists (select from fenceline.controls c where c.key = 'worker:' || $1 and c.paused_at is not null)`

// Beat says that a worker lives and what it holds, and returns whether an
// operator wants it drained: one statement, which changes no index. [ErrNoWorker]
// when the worker has been forgotten: it registers again.
func (s *Store) Beat(ctx context.Context, id string, n WorkerCounts) (drain bool, err error) {
	rows, err := s.pool.Query(ctx, beatSQL, n.args(id)...)
	if err != nil {
		return false, fmt.Errorf("tell that the worker lives: %w", err)
	}
	drains, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	if err != nil {
		return false, fmt.Errorf("tell that the worker lives: %w", err)
	}
	if len(drains) == 0 {
		return false, ErrNoWorker
	}
	return drains[0], nil
}

func (n WorkerCounts) args(id string) []any {
	return []any{id, n.Running, n.Unsettled, n.Claimed, n.Completed, n.Failed, n.Released, n.Refused, n.Lost}
}

// What a worker can say about its end.
const (
	StoppedClean = "clean"      // nothing was left behind
	StoppedLeft  = "unfinished" // claims were left to expire
)

// StoppedCutOff is said of workers by who stopped their database, or started it
// again after it had ended without a word: they could not tell it anything
// afterwards. The next sign of life takes it back.
const StoppedCutOff = "cut off"

// CutOffWorkers says of every worker that lives that its database ends now. It is
// for who is about to stop the server; a worker that ends in order meanwhile, or
// comes back, says otherwise. One that was silent before is lost, and stays so.
func (s *Store) CutOffWorkers(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `
		update fenceline.workers w set stopped_at = c.at, stopped_how = $1
		from (select clock_timestamp() as at) c
		where w.stopped_at is null and w.seen_at >= c.at - 3 * w.beat`, StoppedCutOff)
	if err != nil {
		return fmt.Errorf("say that the database ends: %w", err)
	}
	return nil
}

const cutOffBeforeSQL = `
with start as materialized (
  select pg_postmaster_start_time() as at
), known as materialized (
  select greatest(
    (select max(greatest(w.seen_at, w.stopped_at)) from fenceline.workers w where w.seen_at < s.at and coalesce(w.stopped_at, w.seen_at) < s.at),
    (select t.at from fenceline.watch_turn t where t.at < s.at),
    (select max(m.at) from fenceline.queue_minutes m where m.at < s.at)) as at
  from start s
)
update fenceline.workers w set stopped_at = k.at, stopped_how = $1
from start s, known k
where w.stopped_at is null and w.seen_at < s.at and w.seen_at >= k.at - 3 * w.beat`

// CutOffBefore says of every worker that lived when the server last ended, and
// was not heard of since it started, that it was cut off: the server was killed,
// or its machine was. It is for who has just started the server. When that ended
// is taken from the last thing that anybody wrote down by the minute; one that had
// been silent for three beats then is lost, and stays so.
func (s *Store) CutOffBefore(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, cutOffBeforeSQL, StoppedCutOff); err != nil {
		return fmt.Errorf("say whom the end of the database cut off: %w", err)
	}
	return nil
}

const endWorkerSQL = `
update fenceline.workers w
set seen_at = c.at, stopped_at = c.at, running = $2, unsettled = $3, claimed = $4, completed = $5, failed = $6,
    released = $7, refused = $8, lost = $9, stopped_how = $10
from (select clock_timestamp() as at) c
where w.id = $1
returning ` + notified

// EndWorker says that a worker has ended, and how.
func (s *Store) EndWorker(ctx context.Context, id string, n WorkerCounts, how string) error {
	if _, err := s.pool.Exec(ctx, endWorkerSQL, append(n.args(id), how)...); err != nil {
		return fmt.Errorf("tell that the worker ended: %w", err)
	}
	return nil
}

// KeepWorkers is how long a worker is remembered that ended or was lost.
const KeepWorkers = 7 * 24 * time.Hour

// ForgetWorkers removes up to limit workers that ended or were last seen more
// than [KeepWorkers] ago. Any number of processes may call it at once.
func (s *Store) ForgetWorkers(ctx context.Context, limit int) (int, error) {
	var n int
	err := s.pool.QueryRow(ctx, `select fenceline.forget_workers($1, $2)`, KeepWorkers, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("forget workers: %w", err)
	}
	return n, nil
}
