package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Count is a number that was not counted beyond a bound.
type Count struct {
	N      int64
	Capped bool // there are more than N
}

// countBound is where counting stops.
const countBound = 10000

// HomeWindow is how far back the numbers of [Home] reach.
const HomeWindow = 15 * time.Minute

// DrillQueue is where the drill works; the numbers of [Home] leave it out.
const DrillQueue = "drill"

// Home answers one question: are we waiting for legitimate work, recovering
// abandoned work, or are stale attempts trying to change results? Every time
// is the database's clock; windows reach back [HomeWindow].
type Home struct {
	Now   time.Time
	Empty bool // no job was ever enqueued

	// Legitimate work: running under live leases.
	Running   Count
	OldestJob int64 // the one claimed first; 0 when none runs
	OldestAt  time.Time
	OldestIn  string // its kind

	// Recovery: leases that ended without an end of the attempt.
	Lapsed         Count         // running rows whose deadline has passed and that no sweep has seen yet
	Expired        Count         // in the window
	ExpiredJobs    int64         // the jobs of those leases that are still there, each once
	Reclaimed      int64         // of those jobs: claimed again
	Waiting        int64         // of those jobs: waiting to be claimed
	Lost           int64         // of those jobs: ended, because the budget was spent or by an operator
	LongestUnowned time.Duration // from a deadline to the next claim, or to now

	// Stale attempts: writes refused in the window, by reason, and what the check of
	// the whole log found. Of a window that lost more than 100,000, the newest are
	// told.
	Refused     map[Reason]int64
	RefusedJobs Count // the jobs of those writes that are still there, each once; of the newest 10,000 writes
	Verified    Verification

	States   map[State]Count
	Newest   []Job
	Refusals []Transition // newest first

	Incidents   []Incident  // those that are not resolved, what weighs most first; at most 200
	Trend       Trend       // of the last hour
	Queues      []HomeQueue // those in which most waits or runs, by name
	MoreQueues  bool        // there are others
	All         Control     // what is set for everything
	Workers     int         // live ones
	LostWorkers []Worker    // silent without a word within a day, the last one first, at most 11

	Unhandled []Unhandled // work that waits in front while no live worker would claim it, longest first
}

// TotalRefused is the number of refused writes in the window.
func (h Home) TotalRefused() (n int64) {
	for _, of := range h.Refused {
		n += of
	}
	return n
}

const homeRunningSQL = `
with running as materialized (
  select j.id, j.kind, j.claimed_at, j.lease_until > clock_timestamp() as live
  from fenceline.jobs j
  where j.state = 'running' and j.queue <> $2
  limit $1
)
select count(*) filter (where live), count(*) filter (where not live), clock_timestamp(),
       not exists (select from fenceline.jobs) and exists (select from fenceline.retention where only_row and jobs_before is null),
       coalesce((array_agg(id order by claimed_at) filter (where live))[1], 0),
       coalesce((array_agg(kind order by claimed_at) filter (where live))[1], ''),
       min(claimed_at) filter (where live)
from running`

// Windows reach back from now(), which an index and the partitions can be
// searched by; clock_timestamp() would be compared with every row ever lost.
//
// A job is told by its newest expiry: [search.LeaseLost] says whether it was
// claimed again, so that a search finds the jobs of each number.
const homeExpiredSQL = `
with expired as materialized (
  select t.job_id, t.generation, t.id, t.lease_until
  from fenceline.transitions t
  where t.type = 'expired' and t.at > now() - $3::interval
  order by t.at desc
  limit $1
), now as materialized (
  select e.*, j.state, j.attempt_end is not distinct from 'expired' as unclaimed,
         row_number() over (partition by e.job_id order by e.id desc) = 1 as newest,
         case when j.generation = e.generation and j.state in ('available', 'retryable') then clock_timestamp() - e.lease_until
              when j.generation = e.generation + 1 then j.claimed_at - e.lease_until end as unowned
  from expired e
  join fenceline.jobs j on j.id = e.job_id
  where j.queue <> $2
)
select count(*),
       count(*) filter (where newest),
       count(*) filter (where newest and not unclaimed),
       count(*) filter (where newest and unclaimed and state in ('available', 'retryable', 'scheduled')),
       count(*) filter (where newest and unclaimed and state not in ('available', 'retryable', 'scheduled')),
       coalesce(extract(epoch from max(unowned)), 0)::float8
from now`

const homeRefusedSQL = `
select coalesce(r.reason, ''), count(*)
from (
  select t.reason
  from fenceline.transitions t
  where t.type = 'rejected' and t.at > now() - $3::interval and t.queue <> $2
  order by t.at desc
  limit 10 * $1::bigint
) r
group by 1`

const homeRefusedJobsSQL = `
select count(distinct j.id), count(*)
from (
  select t.job_id from fenceline.transitions t
  where t.type = 'rejected' and t.at > now() - $3::interval
  order by t.at desc
  limit $1
) r
left join fenceline.jobs j on j.id = r.job_id and j.queue <> $2`

// Home reads the numbers. Each is bounded: what it costs does not grow with the
// number of finished jobs.
func (s *Store) Home(ctx context.Context) (Home, error) {
	h := Home{Refused: map[Reason]int64{}, States: map[State]Count{}}
	err := s.snapshot(ctx, h.readRunning, h.readExpired, h.readStale, h.readStates, h.readNewest, h.readUnhandled, h.readTrend, h.readLostWorkers, h.readIncidents)
	if err != nil {
		return Home{}, fmt.Errorf("read home: %w", err)
	}
	return h, nil
}

func (h *Home) readRunning(ctx context.Context, tx pgx.Tx) error {
	var oldest *time.Time
	err := tx.QueryRow(ctx, homeRunningSQL, countBound+1, DrillQueue).Scan(
		&h.Running.N, &h.Lapsed.N, &h.Now, &h.Empty, &h.OldestJob, &h.OldestIn, &oldest)
	h.Now, h.OldestAt = h.Now.UTC(), orZero(oldest)
	h.Running, h.Lapsed = capped(h.Running.N), capped(h.Lapsed.N)
	return err
}

func (h *Home) readExpired(ctx context.Context, tx pgx.Tx) error {
	var unowned float64
	err := tx.QueryRow(ctx, homeExpiredSQL, countBound+1, DrillQueue, HomeWindow).Scan(
		&h.Expired.N, &h.ExpiredJobs, &h.Reclaimed, &h.Waiting, &h.Lost, &unowned)
	h.Expired = capped(h.Expired.N)
	h.LongestUnowned = time.Duration(unowned * float64(time.Second))
	return err
}

func (h *Home) readStale(ctx context.Context, tx pgx.Tx) error {
	if err := h.Verified.read(ctx, tx); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, homeRefusedSQL, countBound, DrillQueue, HomeWindow)
	if err != nil {
		return err
	}
	var reason string
	var n int64
	if _, err = pgx.ForEachRow(rows, []any{&reason, &n}, func() error {
		h.Refused[Reason(reason)] += n
		return nil
	}); err != nil {
		return err
	}
	var looked int64
	if err := tx.QueryRow(ctx, homeRefusedJobsSQL, countBound+1, DrillQueue, HomeWindow).Scan(&h.RefusedJobs.N, &looked); err != nil {
		return err
	}
	h.RefusedJobs.Capped = looked > countBound
	rows, err = tx.Query(ctx, `select `+transitionColumns+` from fenceline.transitions t
		where t.type = 'rejected' and t.at > now() - $1::interval and t.queue <> $2
		order by t.at desc limit 8`, HomeWindow, DrillQueue)
	if err != nil {
		return err
	}
	h.Refusals, err = pgx.CollectRows(rows, scanTransition)
	return err
}

func (h *Home) readStates(ctx context.Context, tx pgx.Tx) error {
	for _, state := range States {
		var n int64
		err := tx.QueryRow(ctx, `select count(*) from (
			select from fenceline.jobs j where j.state = $1::text::fenceline.job_state limit $2) s`,
			string(state), countBound+1).Scan(&n)
		if err != nil {
			return err
		}
		h.States[state] = capped(n)
	}
	return nil
}

func (h *Home) readIncidents(ctx context.Context, tx pgx.Tx) (err error) {
	h.Incidents, err = readIncidents(ctx, tx, activeIncidentsSQL, maxActive)
	return err
}

func (h *Home) readNewest(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `select `+listColumns+` from fenceline.jobs j order by j.id desc limit 12`)
	if err != nil {
		return err
	}
	h.Newest, err = pgx.CollectRows(rows, scanJob)
	return err
}

func capped(n int64) Count {
	if n > countBound {
		return Count{N: countBound, Capped: true}
	}
	return Count{N: n}
}
