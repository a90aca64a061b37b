package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Verified is what one step of checking the log did.
type Verified struct {
	Checked int         // transitions
	Folded  int         // jobs whose whole log was read, because a transition was not plainly allowed
	Found   []Violation // what no correct log can hold, found now
	More    bool        // the step was full: another one is due at once
	Busy    bool        // another process is at it
}

// verifyMost bounds one step.
const verifyMost = 2000

// maxKeptViolations is how many violations are kept; a broken log has them
// everywhere.
const maxKeptViolations = 1000

// verifyLock lets one process at a time check the log.
const verifyLock = "hashtextextended('fenceline.verification', 0)"

// checking is what was read of the next part of the log.
type checking struct {
	read, checked         int
	oldest, newest        *time.Time
	now                   time.Time
	xid                   *string
	id                    *int64
	doubted, jobs         []int64
	large, largeJobs      []int64 // with details that are not small
	largeAt               []time.Time
	found                 []foundViolation
	beginless             int
	logBefore, oldThrough *time.Time
}

type foundViolation struct {
	Violation
	at    time.Time
	stale bool
}

// VerifyNext checks the next part of the log: each transition once, in the order
// of (transaction, id) and behind the oldest transaction that may still write.
// One process works at a time and the others return at once; how far it came is
// in the same commit as what it found.
//
// Held against the transitions before it in its job, each shows what [Fold] can
// see of I1 to I5, I7 and I9, and I8 in its shape; of a job that an operator acted
// on, I11 as well. What it does not see is left to [Store.Verify]: whether the
// rows agree with the log, I6, I10, and an attempt id that was claimed twice.
func (s *Store) VerifyNext(ctx context.Context) (Verified, error) {
	out, err := inTx(ctx, s.pool, func(tx pgx.Tx) (Verified, error) {
		var mine bool
		if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock("+verifyLock+")").Scan(&mine); err != nil || !mine {
			return Verified{Busy: !mine}, err
		}
		// It holds no row until it writes.
		if _, err := tx.Exec(ctx, plannedOnce+"; set local statement_timeout = '5min'; set local idle_in_transaction_session_timeout = '5min'"); err != nil {
			return Verified{}, err
		}
		var c checking
		for _, step := range []func(context.Context, pgx.Tx) error{c.readNext, c.fold, c.keep} {
			if err := step(ctx, tx); err != nil {
				return Verified{}, err
			}
		}
		v := Verified{Checked: c.checked, Folded: len(c.jobs), More: c.read == verifyMost}
		for _, f := range c.found {
			v.Found = append(v.Found, f.Violation)
		}
		return v, nil
	})
	if err != nil {
		return Verified{}, fmt.Errorf("check the log: %w", err)
	}
	return out, nil
}

func (c *checking) readNext(ctx context.Context, tx pgx.Tx) error {
	var xid string
	var id int64
	err := tx.QueryRow(ctx, `select v.xid::text, v.id, v.through, r.log_before from fenceline.verification v, fenceline.retention r where v.only_row and r.only_row`).
		Scan(&xid, &id, &c.oldThrough, &c.logBefore)
	if err != nil {
		return err
	}
	err = tx.QueryRow(ctx, verifySQL, xid, id, verifyMost).Scan(&c.read, &c.checked, &c.oldest, &c.now, &c.xid, &c.id, &c.newest,
		&c.doubted, &c.jobs, &c.large, &c.largeJobs, &c.largeAt)
	if err != nil {
		return err
	}
	for i, t := range c.large {
		c.found = append(c.found, foundViolation{Violation{"I8", c.largeJobs[i], t, "its detail holds more than the known small fields"}, c.largeAt[i], false})
	}
	return nil
}

// fold reads the whole logs of the jobs in doubt, one in memory at a time. What
// the fold says of the transitions of this step is the verdict.
func (c *checking) fold(ctx context.Context, tx pgx.Tx) error {
	if len(c.jobs) == 0 {
		return nil
	}
	slices.Sort(c.doubted)
	rows, err := tx.Query(ctx, `select `+transitionColumns+` from fenceline.transitions t where t.job_id = any ($1) order by t.job_id, t.id`, c.jobs)
	if err != nil {
		return err
	}
	defer rows.Close()
	var h History
	var doubted []Transition
	whole := false
	for rows.Next() {
		t, err := scanTransition(rows)
		if err != nil {
			return err
		}
		if h.Last != 0 && t.JobID != h.JobID {
			c.judge(h, whole, doubted)
			h, doubted = History{}, nil
		}
		if h.Last == 0 {
			whole = t.Type == TypeEnqueued || t.Type == TypeBaseline || c.logBefore == nil
		}
		if _, in := slices.BinarySearch(c.doubted, t.ID); in && t.Type != TypeBaseline {
			doubted = append(doubted, t)
		}
		h.Add(t)
	}
	c.judge(h, whole, doubted)
	return rows.Err()
}

// judge takes the verdict on a job's doubted transitions. Nothing can be said of
// them where the log lost its beginning with the job.
func (c *checking) judge(h History, whole bool, doubted []Transition) {
	if !whole {
		c.beginless += len(doubted)
		return
	}
	for _, t := range doubted {
		for _, v := range h.Violations {
			if v.Transition == t.ID && !slices.ContainsFunc(c.found, func(f foundViolation) bool { return f.Transition == t.ID && f.Invariant == v.Invariant }) {
				c.found = append(c.found, foundViolation{v, t.At, t.stands()})
			}
		}
	}
}

// stands reports whether a transition is the accepted write of an attempt.
func (t Transition) stands() bool {
	return t.Type == TypeRenewed || t.Type == TypeCompleted || t.Type == TypeFailed || t.Type == TypeReleased
}

// What is checked through a moment: the step's own, when it came to the end of
// the log; otherwise that of its last transition.
const verifiedSQL = `
update fenceline.verification v
set xid = coalesce($1::text::xid8, v.xid), id = coalesce($2, v.id), n = v.n + $3, beginless = v.beginless + $4, violations = v.violations + $5, at = clock_timestamp(),
    since = least(v.since, $6),
    through = greatest(v.through, case
      when exists (select from fenceline.transitions t where (t.xid, t.id) > (coalesce($1::text::xid8, v.xid), coalesce($2, v.id))) then $7
      else $8::timestamptz end),
    missed_from = case when $9::timestamptz > v.through then coalesce(v.missed_from, v.through) else v.missed_from end,
    missed_until = case when $9::timestamptz > v.through then $9 else v.missed_until end
where v.only_row`

func (c *checking) keep(ctx context.Context, tx pgx.Tx) error {
	for _, f := range c.found {
		_, err := tx.Exec(ctx, `insert into fenceline.violations (transition_id, job_id, at, stale, invariant, message)
			select $1, $2, $3, $4, $5, $6 where (select count(*) from fenceline.violations) < $7
			on conflict do nothing`, f.Transition, f.JobID, f.at, f.stale, f.Invariant, f.Message, maxKeptViolations)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, verifiedSQL, c.xid, c.id, c.checked, c.beginless, len(c.found), c.oldest, c.newest, c.now, c.logBefore)
	if err == nil && len(c.found) > 0 {
		_, err = tx.Exec(ctx, "select "+notified)
	}
	return err
}

// RuleBroken is the rule whose incident says that the log holds what none can.
const RuleBroken = "broken-promise"

// Verification is how far the log was checked by itself, and what was found.
// Every time is the database's clock.
type Verification struct {
	N          int64     // transitions that were checked, each once
	Since      time.Time // the time of the oldest of them; zero when none was
	Through    time.Time // up to when all is checked; what is not committed yet apart
	At         time.Time // when the last step was; zero when none was
	Beginless  int64     // of N, those of which nothing can be said: the log before them was removed with their jobs
	Violations int64     // that were found, ever
	Stale      int64     // of those that are kept: writes of attempts without authority that were accepted
	Unsettled  int64     // kept ones that were found after the last incident about them was resolved
	Open       int64     // the accepted writes of attempts without authority among those

	// What the log held from here until there may have been removed before it was
	// checked: nothing checked it for longer than the log is kept. Zero when nothing was.
	MissedFrom, MissedUntil time.Time

	Found []KeptViolation // the newest ones, at most 100

	now time.Time // when this was read
}

// KeptViolation is a violation that was found while jobs ran.
type KeptViolation struct {
	Violation
	At      time.Time // of the transition
	FoundAt time.Time
	Stale   bool // a write of an attempt without authority was accepted
}

// maxFoundViolations is how many a [Verification] tells of.
const maxFoundViolations = 100

// A violation is settled by the resolve of an incident about it that knew it: the
// order of commits says so and no clock.
const unsettledSQL = `not exists (
    select from fenceline.incidents i
    where i.rule = '` + RuleBroken + `' and i.state = 'resolved' and pg_visible_in_snapshot(v.xid, i.resolved_in))`

const verificationSQL = `
with kept as materialized (
  select v.transition_id, v.stale, ` + unsettledSQL + ` as unsettled from fenceline.violations v order by v.transition_id, v.invariant limit 1000
)
select clock_timestamp(), s.n, s.since, s.through, s.at, s.beginless, s.violations, s.missed_from, s.missed_until,
       (select count(distinct k.transition_id) from kept k where k.stale),
       (select count(*) from kept k where k.unsettled),
       (select count(distinct k.transition_id) from kept k where k.unsettled and k.stale)
from fenceline.verification s where s.only_row`

// Verification reads how far the log was checked by [Store.VerifyNext].
func (s *Store) Verification(ctx context.Context) (v Verification, err error) {
	err = s.snapshot(ctx, v.read)
	if err != nil {
		return Verification{}, fmt.Errorf("read how far the log is checked: %w", err)
	}
	return v, nil
}

func (v *Verification) readCounts(ctx context.Context, q Querier) error {
	var since, through, at, from, until *time.Time
	err := q.QueryRow(ctx, verificationSQL).Scan(&v.now, &v.N, &since, &through, &at, &v.Beginless, &v.Violations, &from, &until, &v.Stale, &v.Unsettled, &v.Open)
	v.Since, v.Through, v.At, v.MissedFrom, v.MissedUntil = orZero(since), orZero(through), orZero(at), orZero(from), orZero(until)
	v.now = v.now.UTC()
	return err
}

func (v *Verification) read(ctx context.Context, tx pgx.Tx) error {
	if err := v.readCounts(ctx, tx); err != nil || v.Violations == 0 {
		return err
	}
	rows, err := tx.Query(ctx, `select v.invariant, v.job_id, v.transition_id, v.message, v.at, v.found_at, v.stale
		from fenceline.violations v order by v.found_at desc, v.transition_id desc, v.invariant desc limit $1`, maxFoundViolations)
	if err != nil {
		return err
	}
	v.Found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k KeptViolation, err error) {
		err = row.Scan(&k.Invariant, &k.JobID, &k.Transition, &k.Message, &k.At, &k.FoundAt, &k.Stale)
		k.At, k.FoundAt = k.At.UTC(), k.FoundAt.UTC()
		return k, err
	})
	return err
}

// newestUnsettled is what the rule about a broken promise tells of first.
func newestUnsettled(ctx context.Context, tx pgx.Tx) (out Violation, err error) {
	err = tx.QueryRow(ctx, `select v.invariant, v.job_id, v.transition_id, v.message from fenceline.violations v where `+unsettledSQL+`
		order by v.stale desc, v.found_at desc, v.transition_id desc limit 1`).Scan(&out.Invariant, &out.JobID, &out.Transition, &out.Message)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return out, err
}
