package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// FactsWindow is how far back [Facts] reach.
const FactsWindow = time.Hour

// Facts are what rules judge: the counts of the last hour and what stands now.
// The drill is left out. Each part is bounded.
type Facts struct {
	Now     time.Time     // the database's clock
	Minutes []Minute      // of the window
	Behind  time.Duration // since the log was counted up to the horizon
	Loops   []Loop        // jobs of which several leases expired in the window, most first
	Errors  []ErrorGroup  // errors of the window; those of notices are left out
	Waiting []QueueWait   // queues in which jobs wait to be claimed
	Running []RunningJob  // the job of each kind that was claimed first
	Silent  []SilentWorker
	Broken  BrokenPromise

	Undelivered []Undelivered // targets at which notices fail, by name
}

// BrokenPromise is what the check of the log found that no correct log can hold,
// and that no resolved incident knew.
type BrokenPromise struct {
	N, Stale int64     // how many, and how many accepted writes of attempts without authority are among what broke; of the kept ones
	Newest   Violation // a stale one where there is any
}

// Loop is a job that loses its lease again and again.
type Loop struct {
	JobID       int64
	Kind, Queue string
	Expiries    int64
	Last        time.Time
}

// ErrorGroup is a sort of failure, by the fingerprint of its error.
type ErrorGroup struct {
	Kind, Fingerprint string
	First             time.Time // the minute in which it was seen first, as far as counts are kept
	N                 int64     // in the window
	JobID             int64     // one of its jobs
}

// QueueWait is how long the job waits that is due longest in a queue.
type QueueWait struct {
	Queue  string
	Oldest time.Duration
	Paused bool
}

// RunningJob is a job that an attempt holds.
type RunningJob struct {
	JobID       int64
	Kind, Queue string
	Since       time.Time // its claim
}

// SilentWorker is a worker that said nothing for three beats and did not say
// that it ended.
type SilentWorker struct {
	ID   string
	Seen time.Time
}

// Undelivered is a target at which notices fail, and none has arrived since. What
// is looked at is its last notice, and those of the window.
type Undelivered struct {
	Target  string
	JobID   int64 // the newest of the jobs that failed
	Failed  int64 // attempts since a notice arrived last
	GivenUp bool  // one of the jobs was discarded since then
}

// factsBound bounds each list of [Facts].
const factsBound = 100

const loopsSQL = `
select l.job_id, l.kind, l.queue, count(*), max(l.at)
from (
  select t.job_id, t.kind, t.queue, t.at from fenceline.transitions t
  where t.type = 'expired' and t.at > now() - $1::interval and t.queue <> $2
  order by t.at desc limit $3
) l
group by 1, 2, 3 having count(*) > 1
order by 4 desc, 1 limit $4`

const errorGroupsSQL = `
select w.kind, w.fingerprint, w.n, w.job_id,
       (select e.minute from fenceline.rollup_errors e where e.kind = w.kind and e.fingerprint = w.fingerprint order by e.minute limit 1)
from (
  select e.kind, e.fingerprint, sum(e.n)::bigint as n, min(e.job_id) as job_id
  from fenceline.rollup_errors e where e.minute > now() - $1::interval
  group by 1, 2 order by 3 desc, 1, 2 limit $2
) w`

const oldestRunningSQL = `
select distinct on (r.kind) r.id, r.kind, r.queue, r.claimed_at
from (select j.id, j.kind, j.queue, j.claimed_at from fenceline.jobs j where j.state = 'running' and j.queue <> $1 limit $2) r
order by r.kind, r.claimed_at limit $3`

// undeliveredSQL goes by when something arrived or failed: a message that is tried
// again may arrive behind one that was told later. Each of its sources is an index.
const undeliveredSQL = `
with told as materialized (
  select t.target, t.job_id from fenceline.notice_targets t where t.target > ''
  union
  select n.target, n.job_id from fenceline.notices n where n.state <> 'resolved' and n.at > now() - $1::interval
  union
  select n.target, n.job_id from fenceline.notices n where n.state = 'resolved' and n.at > now() - $1::interval
), sent as materialized (
  select t.target, j.id, j.state, j.finished_at,
         coalesce(max(j.finished_at) filter (where j.state = 'completed') over (partition by t.target), '-infinity') as arrived
  from told t
  join fenceline.jobs j on j.id = t.job_id
)
select f.target, max(f.id), sum(f.failed)::bigint, bool_or(f.given_up)
from (
  select s.target, s.id, s.state = 'discarded' and s.finished_at > s.arrived as given_up,
         (select count(*) from fenceline.attempt_errors e where e.job_id = s.id and e.at > s.arrived) as failed
  from sent s
  where s.state not in ('completed', 'terminated')
) f
where f.failed > 0 or f.given_up
group by 1 order by 1 limit $2`

// Facts reads them as they were at one moment.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	var f Facts
	err := s.snapshot(ctx, f.readMinutes, f.readLoops, f.readErrors, f.readWaiting, f.readRunning, f.readSilent, f.readBroken, f.readUndelivered)
	if err != nil {
		return Facts{}, fmt.Errorf("read what rules judge: %w", err)
	}
	return f, nil
}

func (f *Facts) readMinutes(ctx context.Context, tx pgx.Tx) error {
	var m Minutes
	if err := m.read(ctx, tx, FactsWindow); err != nil {
		return err
	}
	f.Now, f.Behind = m.Now, m.Behind
	for _, r := range m.Rows {
		if r.Queue != DrillQueue {
			f.Minutes = append(f.Minutes, r)
		}
	}
	return nil
}

func (f *Facts) readLoops(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, loopsSQL, FactsWindow, DrillQueue, countBound, factsBound)
	if err != nil {
		return err
	}
	f.Loops, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Loop, err error) {
		err = row.Scan(&l.JobID, &l.Kind, &l.Queue, &l.Expiries, &l.Last)
		l.Last = l.Last.UTC()
		return l, err
	})
	return err
}

func (f *Facts) readErrors(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, errorGroupsSQL, FactsWindow, factsBound)
	if err != nil {
		return err
	}
	f.Errors, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e ErrorGroup, err error) {
		err = row.Scan(&e.Kind, &e.Fingerprint, &e.N, &e.JobID, &e.First)
		e.First = e.First.UTC()
		return e, err
	})
	return err
}

// readWaiting takes the pauses in force with it: what is paused is late on
// purpose.
func (f *Facts) readWaiting(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, oldestSQL, oldestPairs)
	if err != nil {
		return err
	}
	var queue string
	var due float64
	if _, err := pgx.ForEachRow(rows, []any{&queue, &due}, func() error {
		if queue != DrillQueue {
			f.Waiting = append(f.Waiting, QueueWait{Queue: queue, Oldest: time.Duration(due * float64(time.Second))})
		}
		return nil
	}); err != nil {
		return err
	}
	r := queueReading{queues: map[string]*Queue{}, kinds: map[string]*Kind{}}
	if err := r.controls(ctx, tx); err != nil {
		return err
	}
	for i := range f.Waiting {
		w := &f.Waiting[i]
		q := r.queues[w.Queue]
		w.Paused = r.out.All.PausedAt(f.Now) || q != nil && q.Control.PausedAt(f.Now)
	}
	return nil
}

func (f *Facts) readRunning(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, oldestRunningSQL, DrillQueue, countBound, factsBound)
	if err != nil {
		return err
	}
	f.Running, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (j RunningJob, err error) {
		err = row.Scan(&j.JobID, &j.Kind, &j.Queue, &j.Since)
		j.Since = j.Since.UTC()
		return j, err
	})
	return err
}

func (f *Facts) readSilent(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, lostWorkersSQL, factsBound)
	if err != nil {
		return err
	}
	lost, err := pgx.CollectRows(rows, scanWorker)
	for _, w := range lost {
		f.Silent = append(f.Silent, SilentWorker{ID: w.ID, Seen: w.SeenAt})
	}
	return err
}

func (f *Facts) readBroken(ctx context.Context, tx pgx.Tx) error {
	var v Verification
	if err := v.readCounts(ctx, tx); err != nil || v.Unsettled == 0 {
		return err
	}
	f.Broken.N, f.Broken.Stale = v.Unsettled, v.Open
	var err error
	f.Broken.Newest, err = newestUnsettled(ctx, tx)
	return err
}

func (f *Facts) readUndelivered(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, undeliveredSQL, FactsWindow, factsBound)
	if err != nil {
		return err
	}
	var u Undelivered
	_, err = pgx.ForEachRow(rows, []any{&u.Target, &u.JobID, &u.Failed, &u.GivenUp}, func() error {
		f.Undelivered = append(f.Undelivered, u)
		return nil
	})
	return err
}

// Tail reads the newest n transitions of the log, in its order: that of (xid,
// id).
func (s *Store) Tail(ctx context.Context, n int) ([]Transition, error) {
	rows, err := s.pool.Query(ctx, `select * from (
		select `+transitionColumns+` from fenceline.transitions t order by t.xid desc, t.id desc limit $1) t order by 2, 1`, n)
	if err != nil {
		return nil, fmt.Errorf("read the log's end: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanTransition)
	if err != nil {
		return nil, fmt.Errorf("read the log's end: %w", err)
	}
	return all, nil
}
