package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Scope says what a [Control] is about.
type Scope string

// What operators can set something for. A kind is paused and limited in
// whatever queue its jobs wait.
const (
	ScopeAll    Scope = "all" // everything at once; it can be paused, and has no name
	ScopeQueue  Scope = "queue"
	ScopeKind   Scope = "kind"
	ScopeWorker Scope = "worker" // one start of a process; its pause is called a drain
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeAll, ScopeQueue, ScopeKind, ScopeWorker}

// Valid reports whether s is one of [Scopes].
func (s Scope) Valid() bool { return slices.Contains(Scopes, s) }

// Control is what operators have set for a queue, a kind, a worker, or for
// everything. It is enforced by each claim, in the database: see the comment of
// fenceline.admit in the migrations.
type Control struct {
	Scope     Scope
	Name      string // empty for [ScopeAll]
	Revision  int64  // grows by one with each change; 0 when nothing was ever set
	ChangedAt time.Time
	Pause     Pause // zero when it is not paused; one that ended by itself stays until the next change
	Limits    Limits
}

// Pause keeps jobs from being claimed. Those that run go on: what is paused
// drains.
type Pause struct {
	At     time.Time
	Until  time.Time // when it ends by itself, on the database's clock; zero for never
	By     string
	Reason string
}

// Limits bound what runs and what is begun, over all processes. Zero values
// limit nothing.
type Limits struct {
	Concurrency int // how many jobs may run at once; running ones stay when it is lowered below them
	Rate        Rate
}

// Rate allows N claims in any stretch of time of the length Per, counted from
// when it was set. A claim that is given back counts too.
type Rate struct {
	N   int
	Per time.Duration
}

// Bounds of [Limits].
const (
	MaxConcurrency = 1_000_000
	MaxRate        = 1_000_000
	MinRatePer     = time.Second
	MaxRatePer     = 24 * time.Hour
)

// PausedAt reports whether the control keeps jobs from being claimed at a
// moment on the database's clock.
func (c Control) PausedAt(now time.Time) bool {
	return !c.Pause.At.IsZero() && (c.Pause.Until.IsZero() || c.Pause.Until.After(now))
}

// InForce reports whether anything is set, ended pauses included.
func (c Control) InForce() bool { return !c.Pause.At.IsZero() || c.Limits != Limits{} }

const controlColumns = `c.scope, c.name, c.revision, c.changed_at, c.paused_at, c.paused_until,
  coalesce(c.paused_by, ''), coalesce(c.pause_reason, ''), coalesce(c.concurrency, 0), coalesce(c.rate, 0),
  coalesce(extract(epoch from c.rate_per), 0)::float8`

func scanControl(row pgx.CollectableRow) (Control, error) {
	var (
		c         Control
		at, until *time.Time
		per       float64
	)
	err := row.Scan(&c.Scope, &c.Name, &c.Revision, &c.ChangedAt, &at, &until,
		&c.Pause.By, &c.Pause.Reason, &c.Limits.Concurrency, &c.Limits.Rate.N, &per)
	c.ChangedAt, c.Pause.At, c.Pause.Until = c.ChangedAt.UTC(), orZero(at), orZero(until)
	c.Limits.Rate.Per = time.Duration(per * float64(time.Second))
	return c, err
}

// Control returns what is set for one queue, kind or worker, or for all. For
// what nobody ever set anything the revision is 0.
func (s *Store) Control(ctx context.Context, scope Scope, name string) (Control, error) {
	if err := scope.Check(name); err != nil {
		return Control{}, err
	}
	return control(ctx, s.pool, scope, name)
}

func control(ctx context.Context, q querier, scope Scope, name string) (Control, error) {
	rows, err := q.Query(ctx, `select `+controlColumns+` from fenceline.controls c where c.key = $1`, string(scope)+":"+name)
	if err != nil {
		return Control{}, fmt.Errorf("read what is set for %s %q: %w", scope, name, err)
	}
	c, err := pgx.CollectExactlyOneRow(rows, scanControl)
	if errors.Is(err, pgx.ErrNoRows) {
		return Control{Scope: scope, Name: name}, nil
	}
	return c, err
}

// maxControls bounds how many of them a page reads.
const maxControls = 2000

// Check holds a name against what can be named in a scope: for everything
// nothing, else the name of a queue or a kind or the id of a worker, whether there
// is one or not. An *[InvalidError] names the scope.
func (s Scope) Check(name string) error {
	if !s.Valid() {
		return &InvalidError{"scope", "must be all, queue, kind or worker"}
	}
	if (s == ScopeAll) != (name == "") {
		if s == ScopeAll {
			return &InvalidError{"name", "must be empty: this is about everything"}
		}
		return &InvalidError{string(s), "is required"}
	}
	limit := MaxQueue
	if s == ScopeKind {
		limit = MaxKind
	}
	return checkName(string(s), name, limit)
}
