package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// FollowUp is a job that is written with its parent's result, if and only if
// that result is accepted. It is unique by (parent, name) and lives outside
// the users' keys: Key must be empty.
type FollowUp struct {
	Name string
	Request
}

// Check reports, as an *[InvalidError], why the follow-up could not be stored.
func (f FollowUp) Check() error {
	if f.Name == "" {
		return &InvalidError{"name", "is required"}
	}
	if err := checkName("name", f.Name, MaxKey); err != nil {
		return err
	}
	if f.Key != "" {
		return &InvalidError{"key", "must be empty: a follow-up is unique by its parent and name"}
	}
	_, err := f.Request.normal()
	return err
}

const followUpSQL = `
with clock as materialized (
  select clock_timestamp() as at
), made as (
  insert into fenceline.jobs
    (created_at, run_at, state, max_attempts, priority, kind, queue, args, enqueued_by, tags, parent_id, follow_name, trace)
  select c.at, coalesce($6, c.at),
         (case when $6 > c.at then 'scheduled' else 'available' end)::fenceline.job_state,
         $7, $5::integer::smallint, $3, $4, $8::text::jsonb, 'job:' || $1::bigint, $9::text[], $1::bigint, $2,
         coalesce(nullif($10, ''), (select p.trace from fenceline.jobs p where p.id = $1))
  from clock c
  on conflict (parent_id, follow_name) where parent_id is not null do nothing
  returning id, created_at, run_at, state, kind, queue, enqueued_by, max_attempts
), logged as (
  insert into fenceline.transitions
    (job_id, at, revision, run_at, type, to_state, attempts_used, max_attempts, kind, queue, actor)
  select m.id, m.created_at, 1, m.run_at, 'enqueued', m.state, 0, m.max_attempts, m.kind, m.queue, m.enqueued_by
  from made m
)
select m.id, ` + workNotified + ` from made m`

// checkFollowUps reports, as an *[InvalidError], which one could not be stored
// and why.
func checkFollowUps(ups []FollowUp) error {
	names := make(map[string]bool, len(ups))
	for i, f := range ups {
		err := f.Check()
		if err == nil && names[f.Name] {
			err = &InvalidError{"name", "is used twice"}
		}
		if invalid := (*InvalidError)(nil); errors.As(err, &invalid) {
			return &InvalidError{fmt.Sprintf("follow_ups[%d].%s", i, invalid.Field), invalid.Message}
		}
		names[f.Name] = true
	}
	return nil
}

// linkedFollowUps counts, for each member, the follow-ups that an earlier
// result of the same job has written already. Read before the row is locked it
// is still exact for every result that is then accepted: no other result can
// have been accepted since that attempt's claim.
func linkedFollowUps(ctx context.Context, tx pgx.Tx, batch []Completion) ([]int, error) {
	linked := make([]int, len(batch))
	var parents []int64
	members := map[int64][]int{}
	for i, c := range batch {
		if len(c.FollowUps) > 0 {
			parents = append(parents, c.Lease.JobID)
			members[c.Lease.JobID] = append(members[c.Lease.JobID], i)
		}
	}
	if len(parents) == 0 {
		return linked, nil
	}
	rows, err := tx.Query(ctx, `select parent_id, follow_name from fenceline.jobs where parent_id = any ($1)`, parents)
	if err != nil {
		return nil, fmt.Errorf("read earlier follow-ups: %w", err)
	}
	var parent int64
	var name string
	_, err = pgx.ForEachRow(rows, []any{&parent, &name}, func() error {
		for _, i := range members[parent] {
			for _, f := range batch[i].FollowUps {
				if f.Name == name {
					linked[i]++
				}
			}
		}
		return nil
	})
	return linked, err
}

// followUpDetail is what a completed transition says of its follow-ups.
func followUpDetail(written, linked int) *string {
	if written == 0 {
		return nil
	}
	raw, _ := json.Marshal(Detail{FollowUps: written, Linked: linked})
	text := string(raw)
	return &text
}

// writeFollowUps inserts the follow-ups of the accepted results, in order.
func writeFollowUps(ctx context.Context, tx pgx.Tx, batch []Completion, outcomes []Outcome) error {
	queued := &pgx.Batch{}
	for i, out := range outcomes {
		if out.Err != nil || out.Repeated {
			continue
		}
		for _, f := range batch[i].FollowUps {
			r, err := f.Request.normal()
			if err != nil {
				return err
			}
			queued.Queue(followUpSQL, out.Lease.JobID, f.Name, r.Kind, r.Queue, int(r.Priority), orNoTime(r.RunAt), r.MaxAttempts, string(r.Args), orNoTags(r.Tags), r.Trace)
		}
	}
	if queued.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, queued).Close(); err != nil {
		return fmt.Errorf("write follow-ups: %w", err)
	}
	return nil
}
