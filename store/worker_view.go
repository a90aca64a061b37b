package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

func sortHolders(all []Holder) {
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Compare(a.ID, b.ID) })
}

// WorkerView is what the page of one worker shows.
type WorkerView struct {
	Now      time.Time
	Known    bool // it is on the list; else only jobs and transitions tell of it
	Worker   Worker
	Holding  []Job        // what it holds now, claimed first, at most 200
	Lost     []Transition // leases of its that expired and writes of its that were refused, newest first
	Recent   []Transition // its newest transitions, newest first, renewals left out
	Searched int          // how many of the newest transitions were looked through for Recent
	Changes  []ControlChange
}

const (
	maxHolding = 200
	maxRecent  = 100
	maxLost    = 100
	lostBound  = 10000 // newest expiries and refusals that are looked through
)

// Worker reads one worker's page. [ErrNoWorker] when nothing tells of it. Each
// part is bounded.
func (s *Store) Worker(ctx context.Context, id string) (WorkerView, error) {
	if err := ScopeWorker.Check(id); err != nil {
		return WorkerView{}, err
	}
	v := WorkerView{Worker: Worker{ID: id}, Searched: recentBound}
	err := s.snapshot(ctx, v.readWorker, v.readHolding, v.readLost, v.readRecent, v.readChanges)
	if err != nil {
		return WorkerView{}, fmt.Errorf("read worker %q: %w", id, err)
	}
	v.Worker.hold(v.Worker.Held)
	if !v.Known && len(v.Holding)+len(v.Lost)+len(v.Recent) == 0 {
		return WorkerView{}, ErrNoWorker
	}
	return v, nil
}

func (v *WorkerView) readWorker(ctx context.Context, tx pgx.Tx) error {
	if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&v.Now); err != nil {
		return err
	}
	v.Now = v.Now.UTC()
	rows, err := tx.Query(ctx, `select `+workerColumns+fromWorkers+` where w.id = $1`, v.Worker.ID)
	if err != nil {
		return err
	}
	w, err := pgx.CollectExactlyOneRow(rows, scanWorker)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	v.Worker, v.Known = w, true
	return err
}

func (v *WorkerView) readHolding(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
with running as materialized (
  select j.id, j.worker, j.claimed_at from fenceline.jobs j where j.state = 'running' limit $2
), own as materialized (
  select r.id, count(*) over () as n from running r where r.worker = $1 order by r.claimed_at, r.id limit $3
)
select `+listColumns+`, o.n from own o join fenceline.jobs j on j.id = o.id order by j.claimed_at, j.id`, v.Worker.ID, countBound, maxHolding)
	if err != nil {
		return err
	}
	v.Holding, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Job, error) {
		return scanJob(before{row, []any{&v.Worker.Held}})
	})
	return err
}

func (v *WorkerView) readLost(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `
select * from (
  select `+transitionColumns+` from fenceline.transitions t
  where t.type in ('expired', 'rejected') order by t.at desc limit $2
) t (id, xid, job_id, kind, queue, type, at, attempt_id, generation, worker)
where t.worker = $1 limit $3`, v.Worker.ID, lostBound, maxLost)
	if err != nil {
		return err
	}
	v.Lost, err = pgx.CollectRows(rows, scanTransition)
	return err
}

func (v *WorkerView) readRecent(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `
select `+transitionColumns+` from (
  select t.* from fenceline.transitions t order by t.xid desc, t.id desc limit $2
) t
where t.worker = $1 and t.type <> 'renewed' limit $3`, v.Worker.ID, recentBound, maxRecent)
	if err != nil {
		return err
	}
	v.Recent, err = pgx.CollectRows(rows, scanTransition)
	return err
}

func (v *WorkerView) readChanges(ctx context.Context, tx pgx.Tx) (err error) {
	v.Changes, err = controlChanges(ctx, tx, ScopeWorker, v.Worker.ID)
	return err
}
