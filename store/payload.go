package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Reveal returns what a job was given and made, in full, and records in the
// same transaction who looked. Without that record nothing is shown.
// [ErrNotFound] when there is no such job.
func (s *Store) Reveal(ctx context.Context, jobID int64, actor string) (Payload, error) {
	return reveal(ctx, s, jobID, actor, "{}", func(tx pgx.Tx) (Payload, error) { return payload(ctx, tx, jobID) })
}

// RevealArgs is [Store.Reveal] of one version of a job's args, which may be the
// present one. [ErrNoVersion] where it is not kept.
func (s *Store) RevealArgs(ctx context.Context, jobID, version int64, actor string) (json.RawMessage, error) {
	return reveal(ctx, s, jobID, actor, fmt.Sprintf(`{"args_version": %d}`, version),
		func(tx pgx.Tx) (json.RawMessage, error) { return argsOf(ctx, tx, jobID, version) })
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

// Payload returns what a job was given and made, unmasked and unrecorded: for
// programs of the job's owner. Whatever shows it to a person calls
// [Store.Reveal] instead. [ErrNotFound] when there is no such job.
func (s *Store) Payload(ctx context.Context, jobID int64) (Payload, error) {
	return payload(ctx, s.pool, jobID)
}

func payload(ctx context.Context, q querier, jobID int64) (Payload, error) {
	rows, err := q.Query(ctx, `select case when j.erased_at is null then j.args end, j.result from fenceline.jobs j where j.id = $1`, jobID)
	if err != nil {
		return Payload{}, fmt.Errorf("read the payload of job %d: %w", jobID, err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (p Payload, err error) {
		err = row.Scan(&p.Args, &p.Result)
		return p, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Payload{}, ErrNotFound
	}
	return p, err
}

// Mask returns the shape of a JSON text: names and structure stay, every value
// that could be a secret is covered. Lists and objects beyond a few entries are
// told by their number.
func Mask(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return json.RawMessage(`"•••"`)
	}
	masked, err := json.MarshalIndent(mask(v, 0), "", "  ")
	if err != nil {
		return json.RawMessage(`"•••"`)
	}
	return masked
}

const (
	maskDepth   = 4
	maskEntries = 40
)

func mask(v any, depth int) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case map[string]any:
		if len(v) > maskEntries || depth >= maskDepth {
			return fmt.Sprintf("{ ••• %d }", len(v))
		}
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[cut(name, 80)] = mask(value, depth+1)
		}
		return out
	case []any:
		if len(v) == 0 {
			return v
		}
		return fmt.Sprintf("[ ••• %d ]", len(v))
	}
	return "•••"
}
