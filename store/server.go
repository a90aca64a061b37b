package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrServer says that the server is a release of PostgreSQL that loses changes:
// 18.0, 18.1, or one before 18.0. There an UPDATE that takes its rows from a
// CTE ends at the first row that another session changed meanwhile. Fenceline
// would record as accepted what is not in the row, so it does not connect.
var ErrServer = errors.New("this release of PostgreSQL loses changes of batches that overlap; update the server to 18.2 or newer")

// CheckServer returns an [ErrServer] for a server_version that must not be used.
func CheckServer(version string) error {
	release, _, _ := strings.Cut(version, " ")
	if release == "18.0" || release == "18.1" || strings.HasPrefix(release, "18beta") || strings.HasPrefix(release, "18rc") {
		return fmt.Errorf("PostgreSQL %s: %w", release, ErrServer)
	}
	return nil
}

// checked refuses a connection to such a server, beside what next refuses.
func checked(next pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := CheckServer(conn.ParameterStatus("server_version")); err != nil || next == nil {
			return err
		}
		return next(ctx, conn)
	}
}
