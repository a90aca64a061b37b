package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ahead is what no log can hold that was written here: transactions that this
// cluster has not begun.
const ahead = "xid >= pg_snapshot_xmax(pg_current_snapshot())"

// adopt makes a log that was restored from another cluster this one's. Its
// transactions have the other one's numbers, which count from elsewhere: what is
// ahead would pass as not committed yet, for as long as this cluster takes to get
// there, and what is written now as counted and checked long ago.
func adopt(ctx context.Context, conn *pgx.Conn) error {
	var foreign bool
	err := conn.QueryRow(ctx, `select exists (select from (select xid from fenceline.transitions order by xid desc, id desc limit 1) newest where `+ahead+`)
		or exists (select from fenceline.rollup_position where `+ahead+`) or exists (select from fenceline.enqueued_ids_position where `+ahead+`)
		or exists (select from fenceline.verification where `+ahead+`)`).Scan(&foreign)
	if err == nil && foreign {
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, sql := range []string{
				"select pg_advisory_xact_lock(" + rollLock + "), pg_advisory_xact_lock(" + verifyLock + ")",
				"update fenceline.transitions set xid = pg_current_xact_id() where " + ahead,
				"update fenceline.violations set xid = pg_current_xact_id() where " + ahead,
				"update fenceline.retention set log_pass = null, log_xid = null, log_after = null where log_" + ahead,
				"update fenceline.enqueued_ids_position set xid = '0', id = 0",
				"update fenceline.verification set xid = '0', id = 0, n = 0, beginless = 0, violations = 0, since = null, through = null, at = null",
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			_, err := throwCountsAway(ctx, tx)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("take over a log of another cluster: %w", err)
	}
	return nil
}
