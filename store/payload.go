package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/redact"
)

// Reveal returns what a job was given and made, but for what a rule keeps from
// everybody, and records in the same transaction who looked. Without that record
// nothing is shown. [ErrNotFound] when there is no such job.
func (s *Store) Reveal(ctx context.Context, jobID int64, actor string) (Payload, error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Payload, error) {
		p, err := s.sight(ctx, tx, jobID, redact.Revealed)
		if err != nil {
			return Payload{}, err
		}
		_, err = tx.Exec(ctx, `insert into fenceline.audit (job_id, actor, action, outcome) values ($1, $2, 'reveal', 'done')`, jobID, actor)
		if err != nil {
			return Payload{}, fmt.Errorf("record the reveal of job %d: %w", jobID, err)
		}
		return p, nil
	})
}

// Show returns what a reader of a sight may see of what a job was given and
// made, unrecorded: the shape of it, or all of it to programs of the job's
// owner. Whatever reveals it to a person calls [Store.Reveal] instead.
// [ErrNotFound] when there is no such job.
func (s *Store) Show(ctx context.Context, jobID int64, sight redact.Sight) (Payload, error) {
	return s.sight(ctx, s.pool, jobID, sight)
}

func (s *Store) sight(ctx context.Context, q querier, jobID int64, sight redact.Sight) (Payload, error) {
	kind, p, err := payload(ctx, q, jobID)
	if err != nil {
		return Payload{}, err
	}
	return s.shown(kind, p, sight), nil
}

func (s *Store) shown(kind string, p Payload, sight redact.Sight) Payload {
	return Payload{Args: s.redact.JSON(kind, redact.Args, p.Args, sight), Result: s.redact.JSON(kind, redact.Result, p.Result, sight)}
}

// Payload returns what a job was given and made, whatever the rules say: for
// what works the job and checks it. Nothing may show it; see [Store.Show].
// [ErrNotFound] when there is no such job.
func (s *Store) Payload(ctx context.Context, jobID int64) (Payload, error) {
	_, p, err := payload(ctx, s.pool, jobID)
	return p, err
}

func payload(ctx context.Context, q querier, jobID int64) (kind string, p Payload, err error) {
	rows, err := q.Query(ctx, `select j.kind, j.args, j.result from fenceline.jobs j where j.id = $1`, jobID)
	if err != nil {
		return "", Payload{}, fmt.Errorf("read the payload of job %d: %w", jobID, err)
	}
	p, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (p Payload, err error) {
		err = row.Scan(&kind, &p.Args, &p.Result)
		return p, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", Payload{}, ErrNotFound
	}
	return kind, p, err
}
