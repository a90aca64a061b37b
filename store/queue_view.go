package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueueView is what the page of one queue shows.
type QueueView struct {
	Now       time.Time
	Queue     Queue
	All       Control // what is set for everything
	Kinds     []Kind  // that run, wait or ran here of late, or that its workers handle
	Workers   []Worker
	Since     time.Time // how far back its figures reach
	Cut       bool
	Unhandled []Unhandled
	Holding   []Job // running, claimed first, at most 50
	Next      []Job // waiting, in the order in which they are claimed, at most 20
	Changes   []ControlChange
	Known     bool // something is, was or could be in it
}

const (
	maxQueueRunning = 50
	maxQueueNext    = 20
	maxChanges      = 50
)

// Queue reads one queue's page. A queue of which nothing is known is no error:
// it is empty, and something can be set for it. Each part is bounded. An
// *[InvalidError] says that no queue can have this name.
func (s *Store) Queue(ctx context.Context, name string) (QueueView, error) {
	if err := ScopeQueue.Check(name); err != nil {
		return QueueView{}, err
	}
	r := queueReading{only: name, queues: map[string]*Queue{}, kinds: map[string]*Kind{}}
	v := QueueView{Queue: Queue{Name: name, Control: Control{Scope: ScopeQueue, Name: name}}}
	err := s.snapshot(ctx, r.controls, r.running, r.waiting, r.later, r.recent, r.starts, r.workers, r.heads,
		v.readRunning, v.readNext, v.readChanges)
	if err != nil {
		return QueueView{}, fmt.Errorf("read queue %q: %w", name, err)
	}
	all := r.page()
	v.Now, v.All, v.Since, v.Cut, v.Unhandled = all.Now, all.All, all.Since, all.Cut, all.Unhandled
	for _, q := range all.Queues {
		if q.Name == name {
			v.Queue, v.Known = q, true
		}
	}
	for _, k := range all.Kinds {
		if k.Running > 0 || k.Waiting > 0 || k.Recent.active() || k.Workers > 0 && r.here(k.Name) {
			v.Kinds = append(v.Kinds, k)
		}
	}
	for _, w := range r.working {
		if w.Queues[name] > 0 {
			v.Workers = append(v.Workers, w)
		}
	}
	return v, nil
}

// here reports whether a worker of the queue handles the kind.
func (r *queueReading) here(kind string) bool {
	for _, w := range r.working {
		if _, handles := w.Kinds[kind]; handles && w.Queues[r.only] > 0 {
			return true
		}
	}
	return false
}

func (r Recent) active() bool {
	return r.Claimed+r.Completed+r.Failed+r.Expired+r.Refused+r.Starts > 0
}

func (v *QueueView) readRunning(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `
with running as materialized (
  select j.id, j.queue, j.claimed_at from fenceline.jobs j where j.state = 'running' limit $2
), own as materialized (
  select r.id from running r where r.queue = $1 order by r.claimed_at, r.id limit $3
)
select `+listColumns+` from own o join fenceline.jobs j on j.id = o.id order by j.claimed_at, j.id`, v.Queue.Name, countBound, maxQueueRunning)
	if err != nil {
		return err
	}
	v.Holding, err = pgx.CollectRows(rows, scanJob)
	return err
}

func (v *QueueView) readNext(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `select `+listColumns+` from fenceline.jobs j
where j.state = 'available' and j.queue = $1 order by j.priority, j.run_at, j.id limit $2`, v.Queue.Name, maxQueueNext)
	if err != nil {
		return err
	}
	v.Next, err = pgx.CollectRows(rows, scanJob)
	return err
}

func (v *QueueView) readChanges(ctx context.Context, tx pgx.Tx) (err error) {
	v.Changes, err = controlChanges(ctx, tx, ScopeQueue, v.Queue.Name)
	return err
}

// ControlChange is an entry of the audit about a [Control].
type ControlChange struct {
	At      time.Time
	Actor   string
	Action  Action
	Outcome string // "done", or why it was refused: a [Conflict]
	Reason  string
	Until   time.Time // of a pause
	Limits  Limits    // of a limit
}

// controlChanges is what was done, or refused, about one control: the newest 50,
// newest first.
func controlChanges(ctx context.Context, q querier, scope Scope, name string) ([]ControlChange, error) {
	rows, err := q.Query(ctx, `
select a.at, a.actor, a.action, a.outcome, coalesce(a.reason, ''), (a.detail ->> 'until')::timestamptz,
       coalesce((a.detail ->> 'concurrency')::integer, 0), coalesce((a.detail ->> 'rate')::integer, 0), coalesce((a.detail ->> 'per_ms')::bigint, 0)
from fenceline.audit a
where a.detail ->> 'control' = $1 and a.detail ? 'control'
order by a.id desc limit $2`, string(scope)+":"+name, maxChanges)
	if err != nil {
		return nil, fmt.Errorf("read what was done about %s %q: %w", scope, name, err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c ControlChange, err error) {
		var until *time.Time
		var per int64
		err = row.Scan(&c.At, &c.Actor, &c.Action, &c.Outcome, &c.Reason, &until, &c.Limits.Concurrency, &c.Limits.Rate.N, &per)
		c.At, c.Until, c.Limits.Rate.Per = c.At.UTC(), orZero(until), time.Duration(per)*time.Millisecond
		return c, err
	})
}

// touched reports whether anything tells of a kind.
func (k *Kind) touched() bool {
	return k != nil && (k.Control.Revision > 0 || k.Running+k.Waiting > 0 || k.Recent.active() || k.handled)
}

// KindView is what the page of one kind shows.
type KindView struct {
	Now       time.Time
	Kind      Kind
	All       Control // what is set for everything
	Since     time.Time
	Cut       bool
	Workers   []Worker    // live ones that handle it
	Unhandled []Unhandled // of it
	Changes   []ControlChange
	Known     bool // it runs, waits, ran of late, is handled, or something is set for it
}

// Kind reads one kind's page, like [Store.Queue] for a queue.
func (s *Store) Kind(ctx context.Context, name string) (KindView, error) {
	if err := ScopeKind.Check(name); err != nil {
		return KindView{}, err
	}
	r := queueReading{queues: map[string]*Queue{}, kinds: map[string]*Kind{}}
	v := KindView{Kind: Kind{Name: name, Control: Control{Scope: ScopeKind, Name: name}}}
	err := s.snapshot(ctx, r.controls, r.running, r.recent, r.starts, r.workers, r.heads, func(ctx context.Context, tx pgx.Tx) error {
		c, err := control(ctx, tx, ScopeKind, name)
		r.kind(name).Control = c
		return err
	}, func(ctx context.Context, tx pgx.Tx) (err error) {
		v.Changes, err = controlChanges(ctx, tx, ScopeKind, name)
		return err
	})
	if err != nil {
		return KindView{}, fmt.Errorf("read kind %q: %w", name, err)
	}
	if r.kinds[name].touched() {
		v.Known = true
		for _, w := range r.working {
			if _, handles := w.Kinds[name]; handles {
				v.Workers = append(v.Workers, w)
			}
		}
	}
	all := r.page()
	v.Now, v.All, v.Since, v.Cut = all.Now, all.All, all.Since, all.Cut
	for _, k := range all.Kinds {
		if k.Name == name {
			v.Kind = k
		}
	}
	for _, u := range all.Unhandled {
		if u.Kind == name {
			v.Unhandled = append(v.Unhandled, u)
		}
	}
	return v, nil
}
