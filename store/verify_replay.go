package store

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
)

// replay folds each job's log and compares it with the row (I1 to I5, I7, I9)
// and with its follow-ups (I10) and kept args (I11). Logs, follow-ups and args come
// through cursors beside the rows, all in the order of the jobs.
func (v *verifier) replay(ctx context.Context, tx pgx.Tx) error {
	for _, cursor := range []string{
		`declare rows no scroll cursor for
		select ` + listColumns + ` from fenceline.jobs j order by j.id`,
		`declare log no scroll cursor for
		select ` + transitionColumns + ` from fenceline.transitions t order by t.job_id, t.id`,
		`declare follow_ups no scroll cursor for
		select j.parent_id, count(*) from fenceline.jobs j where j.parent_id is not null group by j.parent_id order by j.parent_id`,
		`declare versions no scroll cursor for
		select a.job_id, count(*) from fenceline.args_versions a group by a.job_id order by a.job_id`,
	} {
		if _, err := tx.Exec(ctx, cursor); err != nil {
			return err
		}
	}
	jobs := &reader[Job]{tx: tx, fetch: "fetch 2000 from rows", scan: scanJob}
	log := &reader[Transition]{tx: tx, fetch: "fetch 5000 from log", scan: scanTransition}
	followUps := &reader[family]{tx: tx, fetch: "fetch 5000 from follow_ups", scan: pgx.RowToStructByPos[family]}
	versions := &reader[family]{tx: tx, fetch: "fetch 5000 from versions", scan: pgx.RowToStructByPos[family]}
	for {
		j, more, err := jobs.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		v.Jobs++
		h, err := v.replayJob(ctx, j, log)
		if err != nil {
			return err
		}
		if err := v.checkFollowUps(ctx, j.ID, h.FollowUps, followUps); err != nil {
			return err
		}
		if err := v.checkVersions(ctx, j.ID, h.ArgsVersion-h.ArgsFrom, versions); err != nil {
			return err
		}
	}
	if err := v.orphans(ctx, math.MaxInt64, log); err != nil {
		return err
	}
	return v.checkFollowUps(ctx, math.MaxInt64, 0, followUps)
}

func (v *verifier) replayJob(ctx context.Context, j Job, log *reader[Transition]) (History, error) {
	if err := v.orphans(ctx, j.ID, log); err != nil {
		return History{}, err
	}
	h, _, err := v.fold(ctx, j.ID, log)
	if err != nil {
		return h, err
	}
	if h.Last == 0 {
		v.add(Violation{Invariant: "I5", JobID: j.ID, Message: "the job has no transition"})
		return h, nil
	}
	v.add(h.Violations...)
	v.add(h.Differences(j)...)
	return h, nil
}

// fold reads the transitions of one job, which are next in the log.
func (v *verifier) fold(ctx context.Context, job int64, log *reader[Transition]) (h History, first Transition, err error) {
	for {
		t, more, err := log.next(ctx)
		if err != nil {
			return h, first, err
		}
		if !more || t.JobID != job {
			log.unread(t, more)
			return h, first, nil
		}
		if h.Last == 0 {
			first = t
		}
		v.Transitions++
		if t.Type == TypeRejected {
			v.Refused++
		}
		h.Add(t)
	}
}

// orphans judges the logs of jobs that are no longer there, up to a job.
func (v *verifier) orphans(ctx context.Context, until int64, log *reader[Transition]) error {
	for {
		t, more, err := log.next(ctx)
		if err != nil {
			return err
		}
		log.unread(t, more)
		if !more || t.JobID >= until {
			return nil
		}
		h, first, err := v.fold(ctx, t.JobID, log)
		if err != nil {
			return err
		}
		v.orphan(h, first)
	}
}

// orphan judges the log of a job that is not there: one that was removed had
// finished before it was old enough. Its log may have lost its beginning, which
// nothing took the place of, or all but refusals.
func (v *verifier) orphan(h History, first Transition) {
	whole := first.Type == TypeEnqueued || first.Type == TypeBaseline
	switch {
	case whole && len(h.Violations) > 0:
		v.add(h.Violations...)
	case v.JobsBefore.IsZero(), !whole && v.LogBefore.IsZero(),
		h.State != "" && (!h.State.Terminal() || h.FinishedAt.After(v.JobsBefore)):
		v.add(Violation{Invariant: "I5", JobID: h.JobID, Transition: h.Last, Message: "the transition's job does not exist"})
	}
}

// family is how many follow-ups, or kept versions of its args, a job has.
type family struct {
	Parent, N int64
}

// checkVersions holds I11 for what is kept: each version since the last erasure
// but the present one. They go with their job.
func (v *verifier) checkVersions(ctx context.Context, job, replaced int64, versions *reader[family]) error {
	f, more, err := versions.next(ctx)
	if err != nil {
		return err
	}
	if !more || f.Parent > job {
		versions.unread(f, more)
		f = family{Parent: job}
	}
	if f.N != replaced {
		v.add(Violation{Invariant: "I11", JobID: job, Message: fmt.Sprintf("its args were replaced %d times; %d versions are kept", replaced, f.N)})
	}
	return nil
}

// checkFollowUps holds I10: a parent's follow-ups are exactly those that its
// accepted results wrote. They stay as long as the parent, and may stay longer.
func (v *verifier) checkFollowUps(ctx context.Context, job int64, written int, followUps *reader[family]) error {
	for {
		f, more, err := followUps.next(ctx)
		if err != nil {
			return err
		}
		if !more || f.Parent > job {
			followUps.unread(f, more)
			f = family{Parent: job}
		}
		if f.Parent == job {
			if f.N != int64(written) {
				v.add(Violation{Invariant: "I10", JobID: job, Message: fmt.Sprintf("its accepted results wrote %d follow-ups; %d exist", written, f.N)})
			}
			return nil
		}
		if v.JobsBefore.IsZero() {
			v.add(Violation{Invariant: "I10", JobID: f.Parent, Message: fmt.Sprintf("%d follow-ups exist of a job that does not", f.N)})
		}
	}
}
