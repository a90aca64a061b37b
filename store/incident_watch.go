package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Sighting is what a rule found to be wrong.
type Sighting struct {
	Rule, Scope string
	Severity    string
	What        string
	N           int64
	Job         int64
	Search      string
	Kind, Queue string
	Fingerprint string
	Types       []Type // none for what the log does not hold
	Broken      bool   // its evidence are the violations that were found in the log
}

// Watched is what one look did.
type Watched struct {
	Busy                       bool // another process is at it
	Opened, Reopened, Resolved []Incident
}

// A resolved incident opens again for so long; then it is another one.
const reopenWithin = 24 * time.Hour

// seenAgain is the gap after which something that is not in the log, found again
// after a resolve, counts as having happened again.
const seenAgain = 30 * time.Second

// evidenceBound is how many transitions are looked through for evidence.
const evidenceBound = 100000

// watchLock lets one process at a time take a look.
const watchLock = "hashtextextended('fenceline.watch', 0)"

// WatchTurn reports whether a look is due because nobody took one for so long,
// and takes it.
func (s *Store) WatchTurn(ctx context.Context, every time.Duration) (mine bool, err error) {
	tag, err := s.pool.Exec(ctx, "update fenceline.watch_turn set at = clock_timestamp() where only_row and at < clock_timestamp() - $1::interval", every)
	if err != nil {
		return false, fmt.Errorf("take a turn at the watch: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Watch takes what was found in a look: new things become incidents, known ones
// are brought up to date, and those of which nothing was found for quiet resolve
// themselves. One process works at a time and the others return at once.
func (s *Store) Watch(ctx context.Context, found []Sighting, quiet time.Duration) (Watched, error) {
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (w Watched, err error) {
		var mine bool
		if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock("+watchLock+")").Scan(&mine); err != nil || !mine {
			return Watched{Busy: !mine}, err
		}
		for _, f := range found {
			if err := w.take(ctx, tx, f); err != nil {
				return Watched{}, err
			}
		}
		return w, w.settle(ctx, tx, quiet)
	})
	if err != nil {
		return Watched{}, fmt.Errorf("keep the incidents: %w", err)
	}
	return out, nil
}

const latestIncidentSQL = `
select ` + incidentColumns + ` from fenceline.incidents i
where i.rule = $1 and i.scope = $2 order by i.id desc limit 1 for no key update`

func (w *Watched) take(ctx context.Context, tx pgx.Tx, f Sighting) error {
	rows, err := tx.Query(ctx, latestIncidentSQL, f.Rule, f.Scope)
	if err != nil {
		return err
	}
	was, err := pgx.CollectExactlyOneRow(rows, scanIncident)
	var now time.Time
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return w.open(ctx, tx, f)
	case err != nil:
		return err
	}
	if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&now); err != nil {
		return err
	}
	if was.MergedInto != 0 {
		if was, err = follow(ctx, tx, was, f); err != nil || was.State != IncidentResolved {
			return err
		}
	}
	if was.State != IncidentResolved {
		return refresh(ctx, tx, was.ID, f)
	}
	again, err := happenedAgain(ctx, tx, was, f, now)
	switch {
	case err != nil:
		return err
	case !again:
		_, err := tx.Exec(ctx, "update fenceline.incidents set lingers_at = clock_timestamp() where id = $1", was.ID)
		return err
	case now.Sub(was.ResolvedAt) > reopenWithin:
		return w.open(ctx, tx, f)
	}
	return w.reopen(ctx, tx, was, f)
}

func (w *Watched) open(ctx context.Context, tx pgx.Tx, f Sighting) error {
	rows, err := tx.Query(ctx, `
insert into fenceline.incidents as i (opened_at, found_at, changed_at, job_id, n, state, severity, rule, scope, what, search, kind, queue, fingerprint, types)
select c.at, c.at, c.at, nullif($1::bigint, 0), $2, 'open', $3, $4, $5, $6, $7, $8, $9, $10, $11::text[]
from (select clock_timestamp() as at) c
returning `+incidentColumns, f.Job, f.N, f.Severity, f.Rule, f.Scope, f.What, f.Search, f.Kind, f.Queue, f.Fingerprint, texts(f.Types))
	if err != nil {
		return err
	}
	i, err := pgx.CollectExactlyOneRow(rows, scanIncident)
	if err != nil {
		return err
	}
	if err := enter(ctx, tx, i, IncidentOpened, watchActor, f.What, 0); err != nil {
		return err
	}
	w.Opened = append(w.Opened, i)
	return i.lookBack(ctx, tx, evidenceBefore)
}

// refresh brings the numbers up to date, which nobody acts on: the revision
// stays.
func refresh(ctx context.Context, tx pgx.Tx, id int64, f Sighting) error {
	_, err := tx.Exec(ctx, `update fenceline.incidents set found_at = clock_timestamp(), what = $2, n = $3, search = $4 where id = $1`, id, f.What, f.N, f.Search)
	return err
}

func (w *Watched) reopen(ctx context.Context, tx pgx.Tx, was Incident, f Sighting) error {
	rows, err := tx.Query(ctx, `
update fenceline.incidents i
set state = 'open', revision = i.revision + 1, reopened = i.reopened + 1, owner = null, owned_until = null, snoozed_until = null,
    resolved_at = null, resolved_in = null, changed_at = clock_timestamp(), found_at = clock_timestamp(), lingers_at = null, what = $2, n = $3
where i.id = $1
returning `+incidentColumns, was.ID, f.What, f.N)
	if err != nil {
		return err
	}
	i, err := pgx.CollectExactlyOneRow(rows, scanIncident)
	if err != nil {
		return err
	}
	if err := enter(ctx, tx, i, IncidentReopened, watchActor, f.What, 0); err != nil {
		return err
	}
	w.Reopened = append(w.Reopened, i)
	i.Types = append(i.Types, f.Types...) // what was found may be of one that was merged into it
	return i.lookBack(ctx, tx, i.ChangedAt.Sub(was.ResolvedAt))
}

// evidenceSQL looks for a transition that had not committed when the incident
// was resolved. That is the order of the log, whichever clock says what: a write
// that began before the resolve and committed after it counts.
const evidenceSQL = `
select exists (
  select from (
    select t.xid, t.type, t.kind, t.queue, t.job_id, t.detail
    from fenceline.transitions t
    where t.xid >= (select pg_snapshot_xmin(i.resolved_in) from fenceline.incidents i where i.id = $1)
    order by t.xid, t.id limit $7
  ) t
  where not pg_visible_in_snapshot(t.xid, (select i.resolved_in from fenceline.incidents i where i.id = $1))
    and t.type = any ($2::text[]::fenceline.transition_type[]) and t.queue <> $8
    and ($3 = '' or t.kind = $3) and ($4 = '' or t.queue = $4) and ($5 = 0 or t.job_id = $5)
    and ($6 = '' or t.detail ->> 'class' = $6))`

// happenedAgain reports that something of what was found happened after the
// incident was resolved.
func happenedAgain(ctx context.Context, tx pgx.Tx, was Incident, f Sighting, now time.Time) (again bool, err error) {
	if f.Broken {
		err = tx.QueryRow(ctx, `select exists (select from fenceline.violations v
			where not pg_visible_in_snapshot(v.xid, (select i.resolved_in from fenceline.incidents i where i.id = $1)))`, was.ID).Scan(&again)
		return again, err
	}
	if len(f.Types) == 0 {
		return now.Sub(was.lingersAt) > seenAgain, nil
	}
	job := int64(0)
	if f.Fingerprint == "" { // of an error group the job is one of many
		job = f.Job
	}
	err = tx.QueryRow(ctx, evidenceSQL, was.ID, texts(f.Types), f.Kind, f.Queue, job, f.Fingerprint, evidenceBound, DrillQueue).Scan(&again)
	return again, err
}

// settle resolves what is quiet, and takes acknowledgements back that ended.
func (w *Watched) settle(ctx context.Context, tx pgx.Tx, quiet time.Duration) error {
	for _, step := range []struct {
		action IncidentAction
		reason string
		sql    string
		arg    any
	}{
		{IncidentQuiet, "Nothing was found for " + quiet.String() + ".", `
update fenceline.incidents i
set state = 'resolved', revision = i.revision + 1, changed_at = clock_timestamp(), resolved_at = clock_timestamp(), resolved_in = pg_current_snapshot(), snoozed_until = null
where i.id in (select o.id from fenceline.incidents o where o.state <> 'resolved' and o.found_at < clock_timestamp() - $1::interval order by o.id for no key update skip locked)
returning ` + incidentColumns, quiet},
		{IncidentLapsed, "The acknowledgement came to its end.", `
update fenceline.incidents i
set state = 'open', revision = i.revision + 1, changed_at = clock_timestamp(), owned_until = null
where i.id in (select o.id from fenceline.incidents o where o.state = $1 and o.owned_until < clock_timestamp() order by o.id for no key update skip locked)
returning ` + incidentColumns, string(IncidentAcknowledged)},
	} {
		rows, err := tx.Query(ctx, step.sql, step.arg)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, scanIncident)
		if err != nil {
			return err
		}
		for _, i := range all {
			if err := enter(ctx, tx, i, step.action, watchActor, step.reason, 0); err != nil {
				return err
			}
			if step.action == IncidentQuiet {
				w.Resolved = append(w.Resolved, i)
			}
		}
	}
	return nil
}
