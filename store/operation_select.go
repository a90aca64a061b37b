package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/search"
)

// selected are the jobs of a snapshot, in the order in which they are dealt with.
type selected struct {
	jobs, revisions []int64
	states          map[State]int64
	expected        map[Conflict]int64
	looked          int64
}

// refusal is why an action on a job would be refused as it is.
func (a Action) refusal(s State, erased bool) Conflict {
	switch {
	case a == ActionRequeue && s == Available:
		return ConflictAlreadyWaiting
	case a == ActionRequeue && erased:
		return ConflictErased
	case a == ActionTerminate && s.Terminal():
		return ConflictAlreadyEnded
	}
	return ""
}

func (f *selected) add(a Action, id, seen, revision int64, state State, erased bool) {
	f.jobs, f.revisions = append(f.jobs, id), append(f.revisions, seen)
	if state == "" {
		f.expected[ConflictGone]++
		return
	}
	f.states[state]++
	switch why := a.refusal(state, erased); {
	case seen != revision:
		f.expected[ConflictChanged]++
	case why != "":
		f.expected[why]++
	}
}

func newSelected() selected {
	return selected{states: map[State]int64{}, expected: map[Conflict]int64{}}
}

// ticked looks at the jobs that are named. They are taken as they were seen.
func (s *Store) ticked(ctx context.Context, r OperationRequest) (selected, error) {
	found := newSelected()
	ids, seen := make([]int64, len(r.Ticked)), make([]int64, len(r.Ticked))
	for i, t := range r.Ticked {
		ids[i], seen[i] = t.JobID, t.Revision
	}
	rows, err := s.pool.Query(ctx, `
		select t.id, t.seen, coalesce(j.revision, 0), coalesce(j.state::text, ''), j.erased_at is not null
		from unnest($1::bigint[], $2::bigint[]) with ordinality as t (id, seen, n)
		left join fenceline.jobs j on j.id = t.id
		order by t.n`, planned(len(ids), ids, seen)...)
	if err != nil {
		return found, fmt.Errorf("look at the jobs of an operation: %w", err)
	}
	var id, was, revision int64
	var state State
	var erased bool
	_, err = pgx.ForEachRow(rows, []any{&id, &was, &revision, &state, &erased}, func() error {
		found.add(r.Action, id, was, revision, state, erased)
		return nil
	})
	return found, err
}

const (
	// previewEffort is how long a snapshot goes on looking for matches.
	previewEffort = 15 * time.Second
	// previewLook is how many jobs it looks through at most.
	previewLook = 10000000
)

// matching reads all jobs that a query selects, in bounded statements.
func (s *Store) matching(ctx context.Context, a Action, query search.Query) (selected, error) {
	found := newSelected()
	f, err := s.checked(Filter{Query: query})
	if err != nil {
		return found, err
	}
	p := planList(f)
	if p.nothing {
		return found, nil
	}
	known := map[int64]bool{} // in an order by time a job can move ahead while it is read
	began, look, from := time.Now(), p.first(), Place{}
	for {
		turn := time.Now()
		last, n, err := s.lookAll(ctx, p, from, look, func(id, revision int64, state State, erased bool) {
			if !known[id] {
				known[id] = true
				found.add(a, id, revision, revision, state, erased)
			}
		})
		switch {
		case timedOut(ctx, err) && look > 10:
			look /= 20
			continue
		case err != nil:
			return found, fmt.Errorf("select the jobs of an operation: %w", err)
		case len(found.jobs) > MaxOperation:
			return found, &InvalidError{"q", fmt.Sprintf("selects more than %d jobs, which is the limit of one operation; narrow it", MaxOperation)}
		}
		found.looked += n
		if n < int64(look) {
			found.looked = 0
			return found, nil
		}
		if from = last; found.looked >= previewLook || time.Since(began) > previewEffort {
			return found, nil
		}
		switch {
		case p.wide():
			if err := s.narrow(ctx, p); err != nil || p.nothing {
				found.looked = 0
				return found, err
			}
			look = p.look
		case time.Since(turn) < promptly:
			look = min(2*look, searchBound)
		}
	}
}

// lookAll looks at the next jobs from a place on, and tells those that match, n
// of them in all and the last one's place.
func (s *Store) lookAll(ctx context.Context, p *listPlan, from Place, look int, hit func(id, revision int64, state State, erased bool)) (last Place, n int64, err error) {
	q := *p
	q.args = slices.Clone(p.args)
	looked := q.looked(from, look)
	sql := fmt.Sprintf(`
with looked as materialized (%s
)
select l.id, l.at, l.hit, coalesce(j.revision, 0), coalesce(j.state::text, ''), j.erased_at is not null
from looked l
left join fenceline.jobs j on l.hit and j.id = l.id
order by %s`, looked, p.order.by("l.", p.order.timed(), "id", p.back))
	type sighting struct {
		id, revision int64
		state        State
		erased       bool
	}
	var hits []sighting
	err = s.searched(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, q.args...)...)
		if err != nil {
			return err
		}
		var one sighting
		var at *time.Time
		var is *bool
		_, err = pgx.ForEachRow(rows, []any{&one.id, &at, &is, &one.revision, &one.state, &one.erased}, func() error {
			last = Place{orZero(at), one.id}
			n++
			if is != nil && *is && one.state != "" {
				hits = append(hits, one)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return last, 0, err
	}
	for _, h := range hits {
		hit(h.id, h.revision, h.state, h.erased)
	}
	return last, n, nil
}
