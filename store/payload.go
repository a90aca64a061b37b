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
	return inTx(ctx, s.pool, func(tx pgx.Tx) (Payload, error) {
		p, err := payload(ctx, tx, jobID)
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

// Payload returns what a job was given and made, unmasked and unrecorded: for
// programs of the job's owner. Whatever shows it to a person calls
// [Store.Reveal] instead. [ErrNotFound] when there is no such job.
func (s *Store) Payload(ctx context.Context, jobID int64) (Payload, error) {
	return payload(ctx, s.pool, jobID)
}

func payload(ctx context.Context, q querier, jobID int64) (Payload, error) {
	rows, err := q.Query(ctx, `select j.args, j.result from fenceline.jobs j where j.id = $1`, jobID)
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
