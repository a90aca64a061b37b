package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/search"
)

// OperationRequest selects jobs for an [Operation]: those that are named, or
// else all that the filter selects.
type OperationRequest struct {
	Action Action
	Ticked []Ticked
	Filter Filter    // its page is of no account; an order that holds some states only selects those
	Search uuid.UUID // the id under which the filter's query is kept; needed where it looks into args
	Actor  string    // who looks; set by the edge, never by a client
}

// Ticked is one job that was named, as it was seen.
type Ticked struct {
	JobID    int64
	Revision int64
}

func (r OperationRequest) check() error {
	switch {
	case r.Action != ActionRequeue && r.Action != ActionTerminate:
		return &InvalidError{"action", "must be requeue or terminate"}
	case r.Actor == "":
		return &InvalidError{"actor", "is required"}
	case len(r.Ticked) > MaxTicked:
		return &InvalidError{"jobs", fmt.Sprintf("names %d jobs; the limit is %d, and a search can select more", len(r.Ticked), MaxTicked)}
	case len(r.Ticked) == 0 && r.Filter.Query.InArgs() && r.Search == uuid.Nil:
		return &InvalidError{"q", "looks into args; keep the search first, and name it by its id"}
	}
	seen := make(map[int64]bool, len(r.Ticked))
	for i, t := range r.Ticked {
		switch {
		case t.JobID <= 0:
			return &InvalidError{fmt.Sprintf("jobs[%d].id", i), "must be a job's id"}
		case t.Revision <= 0:
			return &InvalidError{fmt.Sprintf("jobs[%d].revision", i), "is required: the revision of the job that you looked at"}
		case seen[t.JobID]:
			return &InvalidError{fmt.Sprintf("jobs[%d].id", i), "is named twice"}
		}
		seen[t.JobID] = true
	}
	return checkName("actor", r.Actor, MaxActor)
}

// PreviewOperation takes a snapshot of the jobs that a request selects, and acts
// on none of them. It is the only time at which they are selected: what is
// confirmed later is this snapshot. Where the search would take too long it
// stops and says so. An *[InvalidError] where no job is selected, or more than
// [MaxOperation].
func (s *Store) PreviewOperation(ctx context.Context, r OperationRequest) (Operation, error) {
	if err := r.check(); err != nil {
		return Operation{}, err
	}
	var found selected
	var words string
	var err error
	var query search.Query
	if len(r.Ticked) > 0 {
		words = "ticked one by one"
		found, err = s.ticked(ctx, r)
	} else {
		if query, err = r.Filter.whole(); err != nil {
			return Operation{}, err
		}
		words = query.Words()
		found, err = s.matching(ctx, r.Action, query)
	}
	if err != nil {
		return Operation{}, err
	}
	if len(found.jobs) == 0 {
		return Operation{}, &InvalidError{"q", "selects no job, so there is nothing to do"}
	}
	o := Operation{Action: r.Action, Words: words, Filter: query.String(), Search: r.Search, CreatedBy: r.Actor}
	if r.Search != uuid.Nil {
		o.Filter = ""
	}
	return s.keepPreview(ctx, o, found)
}

// whole is all that a list shows, as a query: also what its order leaves out.
func (f Filter) whole() (search.Query, error) {
	f.After, f.Before, f.Limit = Place{}, Place{}, 0
	f, err := f.check()
	if err != nil {
		return search.Query{}, err
	}
	states, rest := statesOf(f.Query)
	states = slices.DeleteFunc(states, func(s State) bool { return !slices.Contains(orders[f.Order].states, s) })
	if len(orders[f.Order].states) == len(States) {
		return f.Query, nil
	}
	t := search.Term{Field: search.State}
	for _, s := range states {
		t.Values = append(t.Values, search.Value{Text: string(s)})
	}
	if len(states) == 0 {
		return search.Query{}, &InvalidError{"q", "selects no job, so there is nothing to do"}
	}
	return search.Query{Terms: append([]search.Term{t}, rest...)}, nil
}

// keepPreview writes the snapshot down.
func (s *Store) keepPreview(ctx context.Context, o Operation, found selected) (Operation, error) {
	var kept *uuid.UUID
	if o.Search != uuid.Nil {
		kept = &o.Search
	}
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Operation, error) {
		var id int64
		err := tx.QueryRow(ctx, `
			insert into fenceline.operations (action, total, looked, search, filter, filter_words, created_by, states, expected)
			values ($1, $2, nullif($3::bigint, 0), $4, nullif($5, ''), $6, $7, $8, $9) returning id`,
			string(o.Action), len(found.jobs), found.looked, kept, o.Filter, o.Words, o.CreatedBy, found.states, found.expected).Scan(&id)
		if err != nil {
			return o, fmt.Errorf("keep a preview: %w", err)
		}
		parts := (len(found.jobs) + partJobs - 1) / partJobs
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"fenceline", "operation_parts"}, []string{"operation_id", "n", "jobs", "revisions"},
			pgx.CopyFromSlice(parts, func(n int) ([]any, error) {
				from, to := n*partJobs, min((n+1)*partJobs, len(found.jobs))
				return []any{id, int64(n), found.jobs[from:to], found.revisions[from:to]}, nil
			}))
		if err != nil {
			return o, fmt.Errorf("keep a preview: %w", err)
		}
		rows, err := tx.Query(ctx, `select `+operationColumns+`, pg_notify('fenceline_transitions', pg_current_xact_id()::text)::text from fenceline.operations o where o.id = $1`, id)
		if err != nil {
			return o, err
		}
		return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (Operation, error) {
			return scanOperation(before{row, []any{nil}})
		})
	})
}
