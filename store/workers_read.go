package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Worker is one start of a process that works jobs, as the list knows it. Every
// time is the database's clock.
type Worker struct {
	ID      string
	Host    string
	PID     int
	Program string
	Version string
	Queues  map[string]int           // slots
	Kinds   map[string]time.Duration // lengths of leases

	StartedAt  time.Time
	SeenAt     time.Time
	StoppedAt  time.Time     // zero while it has not said that it ended
	StoppedHow string        // [StoppedClean], [StoppedLeft], [StoppedCutOff], or empty
	Beat       time.Duration // how often it says that it lives
	Counts     WorkerCounts  // as it said last

	Control Control // a pause of it is a drain
	Held    int64   // running jobs that are its own, of at most 10,000 of all
	Status  WorkerStatus
}

// WorkerStatus says how a worker is.
type WorkerStatus string

// The statuses of a worker.
const (
	WorkerLive     WorkerStatus = "live"
	WorkerDraining WorkerStatus = "draining" // it finishes what it holds
	WorkerDrained  WorkerStatus = "drained"  // it holds nothing and claims nothing
	WorkerLost     WorkerStatus = "lost"     // silent for three beats: the process died, is stopped, or cannot reach the database
	WorkerStopped  WorkerStatus = "stopped"  // it said that it ended
)

// Claims reports whether the worker takes jobs.
func (w Worker) Claims() bool { return w.Status == WorkerLive }

// Slots is how many jobs it runs at once at most.
func (w Worker) Slots() (n int) {
	for _, slots := range w.Queues {
		n += slots
	}
	return n
}

const workerColumns = `w.id, w.host, w.pid, w.program, w.version, w.queues, w.kinds,
  w.started_at, w.seen_at, w.stopped_at, coalesce(w.stopped_how, ''), w.beat,
  w.running, w.unsettled, w.claimed, w.completed, w.failed, w.released, w.refused, w.lost,
  coalesce(d.revision, 0), coalesce(d.changed_at, w.started_at), d.paused_at, coalesce(d.paused_by, ''), coalesce(d.pause_reason, ''),
  case when w.stopped_at is not null then 'stopped'
       when w.seen_at < clock_timestamp() - 3 * w.beat then 'lost'
       when d.paused_at is null then 'live'
       else 'draining' end`

const fromWorkers = ` from fenceline.workers w left join fenceline.controls d on d.key = 'worker:' || w.id `

func scanWorker(row pgx.CollectableRow) (Worker, error) {
	var (
		w               Worker
		stopped, paused *time.Time
		leases          map[string]int64
	)
	n, c := &w.Counts, &w.Control
	err := row.Scan(&w.ID, &w.Host, &w.PID, &w.Program, &w.Version, &w.Queues, &leases,
		&w.StartedAt, &w.SeenAt, &stopped, &w.StoppedHow, &w.Beat,
		&n.Running, &n.Unsettled, &n.Claimed, &n.Completed, &n.Failed, &n.Released, &n.Refused, &n.Lost,
		&c.Revision, &c.ChangedAt, &paused, &c.Pause.By, &c.Pause.Reason, &w.Status)
	w.Kinds = make(map[string]time.Duration, len(leases))
	for kind, ms := range leases {
		w.Kinds[kind] = time.Duration(ms) * time.Millisecond
	}
	c.Scope, c.Name, c.Pause.At = ScopeWorker, w.ID, orZero(paused)
	w.StartedAt, w.SeenAt, w.StoppedAt = w.StartedAt.UTC(), w.SeenAt.UTC(), orZero(stopped)
	return w, err
}

const (
	maxWorkers = 500  // on one page
	maxLive    = 5000 // that are asked who would claim a job
)

// liveWorkers reads the workers that can be believed to live, drained ones too.
func liveWorkers(ctx context.Context, q querier) ([]Worker, error) {
	rows, err := q.Query(ctx, `select `+workerColumns+fromWorkers+`
		where w.stopped_at is null and w.seen_at > clock_timestamp() - 3 * w.beat
		order by w.started_at desc limit $1`, maxLive)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanWorker)
}

// Workers is what the page of all workers shows.
type Workers struct {
	Now     time.Time
	Workers []Worker // live ones and lost ones first, then those that ended, newest first
	More    bool     // there are more than are shown
	Strange []Holder // running jobs whose worker is on no list
}

// Holder is a worker that only its running jobs tell of.
type Holder struct {
	ID   string
	Held int64
}

// Workers reads the list. What it costs is bounded.
func (s *Store) Workers(ctx context.Context) (out Workers, err error) {
	held := map[string]int64{}
	err = s.snapshot(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, sql := range []string{
			` where w.stopped_at is null order by w.started_at desc limit $1`,
			` where w.stopped_at is not null order by w.stopped_at desc limit $1`,
		} {
			rows, err := tx.Query(ctx, `select `+workerColumns+fromWorkers+sql, maxWorkers+1-len(out.Workers))
			if err != nil {
				return err
			}
			some, err := pgx.CollectRows(rows, scanWorker)
			if err != nil {
				return err
			}
			out.Workers = append(out.Workers, some...)
		}
		return tx.QueryRow(ctx, "select clock_timestamp()").Scan(&out.Now)
	}, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select coalesce(s.worker, ''), count(*) from (
			select j.worker from fenceline.jobs j where j.state = 'running' limit $1) s group by 1`, countBound)
		if err != nil {
			return err
		}
		var id string
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { held[id] = n; return nil })
		return err
	})
	if err != nil {
		return Workers{}, fmt.Errorf("read the workers: %w", err)
	}
	out.Now = out.Now.UTC()
	if len(out.Workers) > maxWorkers {
		out.Workers, out.More = out.Workers[:maxWorkers], true
	}
	for i := range out.Workers {
		w := &out.Workers[i]
		w.hold(held[w.ID])
		delete(held, w.ID)
	}
	if !out.More {
		for id, n := range held {
			out.Strange = append(out.Strange, Holder{id, n})
		}
		sortHolders(out.Strange)
	}
	return out, nil
}

// hold completes a worker by what it holds.
func (w *Worker) hold(n int64) {
	w.Held = n
	if w.Status == WorkerDraining && n == 0 && w.Counts.Unsettled == 0 {
		w.Status = WorkerDrained
	}
}
