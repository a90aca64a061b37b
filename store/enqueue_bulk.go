package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnqueueMany stores up to [MaxBulk] jobs in one transaction: all of them or
// none. Requests without a key go by COPY, in a number of statements that does
// not grow with theirs; the others go as one pipeline and keep the rules of
// [Store.Enqueue]. An *[InvalidError] names the request in its field, as in
// "[17].args"; so does the one for a key that another request of the bulk has.
// The answers are in the order of the requests.
func (s *Store) EnqueueMany(ctx context.Context, requests []Request) ([]Enqueued, error) {
	if len(requests) > MaxBulk {
		return nil, &InvalidError{"jobs", fmt.Sprintf("has %d entries; the limit is %d", len(requests), MaxBulk)}
	}
	var plain, keyed []int
	normal := make([]Request, len(requests))
	for i, r := range requests {
		n, err := r.normal()
		if err != nil {
			return nil, inRequest(i, err)
		}
		normal[i] = n
		if n.Key == "" {
			plain = append(plain, i)
		} else {
			keyed = append(keyed, i)
		}
	}
	return inTx(ctx, s.pool, func(tx pgx.Tx) ([]Enqueued, error) {
		out := make([]Enqueued, len(normal))
		if err := copyJobs(ctx, tx, normal, plain, out); err != nil {
			return nil, err
		}
		if err := insertJobs(ctx, tx, normal, keyed, out); err != nil {
			return nil, err
		}
		if len(normal) == 0 {
			return out, nil
		}
		_, err := tx.Exec(ctx, "select "+notified+", "+workNotified)
		return out, err
	})
}

func inRequest(i int, err error) error {
	if invalid := (*InvalidError)(nil); errors.As(err, &invalid) {
		return &InvalidError{fmt.Sprintf("[%d].%s", i, invalid.Field), invalid.Message}
	}
	return err
}

// copyJobs takes ids and one reading of the clock from the database, then
// copies the rows and their transitions.
func copyJobs(ctx context.Context, tx pgx.Tx, requests []Request, which []int, out []Enqueued) error {
	if len(which) == 0 {
		return nil
	}
	var at time.Time
	var ids []int64
	var nobody string
	err := tx.QueryRow(ctx, `select clock_timestamp(), array_agg(nextval('fenceline.jobs_id_seq')), 'sql:' || session_user
		from generate_series(1, $1)`, len(which)).Scan(&at, &ids, &nobody)
	if err != nil {
		return fmt.Errorf("enqueue: take ids: %w", err)
	}
	entry := func(r *Request) (State, time.Time) {
		switch {
		case r.RunAt.IsZero():
			return Available, at
		case r.RunAt.After(at):
			return Scheduled, r.RunAt
		}
		return Available, r.RunAt
	}
	columns := []string{"id", "kind", "queue", "args", "priority", "max_attempts", "tags", "enqueued_by", "created_at", "state", "run_at", "trace"}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"fenceline", "jobs"}, columns, pgx.CopyFromSlice(len(which), func(n int) ([]any, error) {
		r := &requests[which[n]]
		out[which[n]].ID = ids[n]
		state, due := entry(r)
		return []any{ids[n], r.Kind, r.Queue, []byte(r.Args), r.Priority, r.MaxAttempts, orNoTags(r.Tags), cmp.Or(r.Actor, nobody), at, string(state), due, orNoText(r.Trace)}, nil
	}))
	if err != nil {
		return fmt.Errorf("enqueue: copy jobs: %w", err)
	}
	columns = []string{"job_id", "kind", "queue", "type", "to_state", "revision", "attempts_used", "max_attempts", "actor", "at", "run_at"}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"fenceline", "transitions"}, columns, pgx.CopyFromSlice(len(which), func(n int) ([]any, error) {
		r := &requests[which[n]]
		state, due := entry(r)
		return []any{ids[n], r.Kind, r.Queue, string(TypeEnqueued), string(state), 1, 0, r.MaxAttempts, cmp.Or(r.Actor, nobody), at, due}, nil
	}))
	if err != nil {
		return fmt.Errorf("enqueue: copy transitions: %w", err)
	}
	return nil
}

func orNoTags(tags []string) any {
	if len(tags) == 0 {
		return nil
	}
	return tags
}

func orNoText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orNoTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// insertJobs runs fenceline.enqueue for each request, silently: the bulk has
// one notification. Keys are taken in order, so that two bulks with the same
// keys wait for each other instead of locking each other out.
func insertJobs(ctx context.Context, tx pgx.Tx, requests []Request, which []int, out []Enqueued) error {
	sort.SliceStable(which, func(a, b int) bool {
		x, y := &requests[which[a]], &requests[which[b]]
		if x.Kind != y.Kind {
			return x.Kind < y.Kind
		}
		return x.Key < y.Key
	})
	batch := &pgx.Batch{}
	for _, i := range which {
		r := requests[i]
		// Each names its trace or none, since the setting lasts until the next does.
		batch.Queue(`select e.id, e.existing
			from (select set_config('fenceline.traceparent', $10, true) as trace) c
			cross join lateral fenceline.enqueue($1 || left(c.trace, 0), $2::text::jsonb, nullif($3, ''), $4, $5, $6, $7, $8, nullif($9, ''), false) e`,
			r.Kind, string(r.Args), r.Key, r.Queue, int(r.Priority), orNoTime(r.RunAt), r.MaxAttempts, r.Tags, r.Actor, r.Trace)
	}
	results := tx.SendBatch(ctx, batch)
	defer results.Close()
	owner := make(map[int64]int, len(which))
	for _, i := range which {
		if err := results.QueryRow().Scan(&out[i].ID, &out[i].Existing); err != nil {
			err = enqueueError(requests[i], err)
			var conflict *KeyConflictError
			if errors.As(err, &conflict) {
				if first, here := owner[conflict.JobID]; here {
					err = &InvalidError{"key", fmt.Sprintf("is also that of [%d], which is a different request", first)}
				}
			}
			return inRequest(i, err)
		}
		if !out[i].Existing {
			owner[out[i].ID] = i
		}
	}
	return results.Close()
}
