package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ArgsVersion says of args that others took the place of when that was and who
// did it. It does not hold them.
type ArgsVersion struct {
	Version    int64
	ReplacedAt time.Time // the database's clock
	ReplacedBy string
	Bytes      int // as they are stored
}

// ArgsVersions lists the versions of a job's args that are kept beside the present
// ones, newest first; at most [MaxArgsVersions].
func (s *Store) ArgsVersions(ctx context.Context, jobID int64) ([]ArgsVersion, error) {
	return argsVersions(ctx, s.pool, jobID)
}

func argsVersions(ctx context.Context, q querier, jobID int64) ([]ArgsVersion, error) {
	rows, err := q.Query(ctx, `select a.version, a.replaced_at, a.replaced_by, pg_column_size(a.args)
		from fenceline.args_versions a where a.job_id = $1 order by a.version desc`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the versions of job %d's args: %w", jobID, err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v ArgsVersion, err error) {
		err = row.Scan(&v.Version, &v.ReplacedAt, &v.ReplacedBy, &v.Bytes)
		v.ReplacedAt = v.ReplacedAt.UTC()
		return v, err
	})
}
