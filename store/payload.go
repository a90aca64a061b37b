package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/redact"
)

// Reveal returns what a job was given and made, but for what a rule keeps from
// everybody, and records in the same transaction who looked. Without that record
// nothing is shown. [ErrNotFound] when there is no such job.
func (s *Store) Reveal(ctx context.Context, jobID int64, actor string) (Payload, error) {
	return reveal(ctx, s, jobID, actor, "{}", func(tx pgx.Tx) (Payload, error) { return s.sight(ctx, tx, jobID, redact.Revealed) })
}

// RevealArgs is [Store.Reveal] of one version of a job's args, which may be the
// present one. [ErrNoVersion] where it is not kept.
func (s *Store) RevealArgs(ctx context.Context, jobID, version int64, actor string) (json.RawMessage, error) {
	return reveal(ctx, s, jobID, actor, fmt.Sprintf(`{"args_version": %d}`, version), func(tx pgx.Tx) (json.RawMessage, error) {
		kind, args, err := argsOf(ctx, tx, jobID, version)
		return s.redact.JSON(kind, redact.Args, args, redact.Revealed), err
	})
}

func reveal[T any](ctx context.Context, s *Store, jobID int64, actor, detail string, read func(pgx.Tx) (T, error)) (T, error) {
	return inTx(ctx, s.pool, func(tx pgx.Tx) (T, error) {
		var none T
		p, err := read(tx)
		if err != nil {
			return none, err
		}
		_, err = tx.Exec(ctx, `insert into fenceline.audit (job_id, actor, action, outcome, detail) values ($1, $2, 'reveal', 'done', $3)`, jobID, actor, detail)
		if err != nil {
			return none, fmt.Errorf("record the reveal of job %d: %w", jobID, err)
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
	rows, err := q.Query(ctx, `select j.kind, case when j.erased_at is null then j.args end, j.result from fenceline.jobs j where j.id = $1`, jobID)
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
