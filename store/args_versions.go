package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store/redact"
)

// ErrNoVersion says that a job has no such version of its args, or that it is
// kept no longer.
var ErrNoVersion = errors.New("no such version of the job's args")

// ArgsVersion says of args that others took the place of when that was, who did
// it and why. It does not hold them.
type ArgsVersion struct {
	Version    int64
	ReplacedAt time.Time // the database's clock
	ReplacedBy string
	Reason     string // why, in that operator's words; empty where the log tells it no longer
	Bytes      int    // as they are stored
}

// ArgsVersions lists the versions of a job's args that are kept beside the present
// ones, newest first; at most [MaxArgsVersions].
func (s *Store) ArgsVersions(ctx context.Context, jobID int64) ([]ArgsVersion, error) {
	return argsVersions(ctx, s.pool, jobID)
}

func argsVersions(ctx context.Context, q querier, jobID int64) ([]ArgsVersion, error) {
	rows, err := q.Query(ctx, `
		with replaced as materialized (
		  select (t.detail ->> 'args_version')::bigint - 1 as version, t.reason
		  from fenceline.transitions t
		  where t.job_id = $1 and t.type in ('requeued', 'amended') and t.detail ? 'args_version'
		)
		select a.version, a.replaced_at, a.replaced_by, coalesce(r.reason, ''), pg_column_size(a.args)
		from fenceline.args_versions a
		left join replaced r on r.version = a.version
		where a.job_id = $1
		order by a.version desc`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the versions of job %d's args: %w", jobID, err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v ArgsVersion, err error) {
		err = row.Scan(&v.Version, &v.ReplacedAt, &v.ReplacedBy, &v.Reason, &v.Bytes)
		v.ReplacedAt = v.ReplacedAt.UTC()
		return v, err
	})
}

// ShowArgs is [Store.Show] of one version of a job's args, which may be the
// present one. [ErrNoVersion] where it is not kept.
func (s *Store) ShowArgs(ctx context.Context, jobID, version int64, sight redact.Sight) (json.RawMessage, error) {
	kind, args, err := argsOf(ctx, s.pool, jobID, version)
	return s.redact.JSON(kind, redact.Args, args, sight), err
}

func argsOf(ctx context.Context, q querier, jobID, version int64) (kind string, args json.RawMessage, err error) {
	rows, err := q.Query(ctx, `
		select j.kind,
		       case when coalesce(j.args_version, 1) = $2 then j.args
		            else (select a.args from fenceline.args_versions a where a.job_id = j.id and a.version = $2) end
		from fenceline.jobs j
		where j.id = $1 and j.erased_at is null`, jobID, version)
	if err == nil {
		_, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, row.Scan(&kind, &args) })
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && args == nil:
		return "", nil, ErrNoVersion
	case err != nil:
		return "", nil, fmt.Errorf("read version %d of job %d's args: %w", version, jobID, err)
	}
	return kind, args, nil
}
