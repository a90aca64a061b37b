package doctor

import (
	"context"
)

func (e *exam) replication(ctx context.Context) ([]Finding, error) {
	const name = "replication"
	var names string
	var standbys, synchronous int64
	err := e.conn.QueryRow(ctx, `select current_setting('synchronous_standby_names'), count(*),
		count(*) filter (where sync_state in ('sync', 'quorum')) from pg_stat_replication where state is not null`).
		Scan(&names, &standbys, &synchronous)
	switch {
	case err != nil:
		return nil, err
	case names != "" && synchronous == 0:
		return []Finding{fail(name, "Bring the standby back, or take it out of synchronous_standby_names: until then every commit waits.",
			"synchronous_standby_names is set, and no synchronous standby is connected.")}, nil
	case standbys > 0 && synchronous == 0:
		return []Finding{warn(name, "Make one standby synchronous if a failover must not lose acknowledged jobs; attempts stay fenced either way.",
			"%s, none of them synchronous.", plural(standbys, "standby"))}, nil
	case standbys == 0:
		return []Finding{ok(name, "No standby is connected.")}, nil
	}
	return []Finding{ok(name, "%s, %d of them synchronous.", plural(standbys, "standby"), synchronous)}, nil
}

// slots that nobody reads keep write-ahead log until the disk is full.
func (e *exam) slots(ctx context.Context) ([]Finding, error) {
	const name = "replication_slots"
	var n, kept int64
	var worst *string
	err := e.conn.QueryRow(ctx, `
		select count(*), coalesce(max(kept), 0)::bigint, (array_agg(slot_name::text order by kept desc nulls last))[1]
		from (select slot_name, pg_wal_lsn_diff(
		        case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, restart_lsn) as kept
		      from pg_replication_slots where not active) s`).Scan(&n, &kept, &worst)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return []Finding{ok(name, "Every replication slot is read.")}, nil
	}
	return []Finding{graded(name, kept, e.limits.WALWarn, e.limits.WALFail,
		"Bring its reader back or drop the slot: it keeps write-ahead log until the disk is full, and then nothing is stored.",
		"%s that nobody reads; %s keeps %s.", plural(n, "slot"), *worst, bytesText(kept))}, nil
}
