package doctor

import (
	"context"
	"fmt"
	"time"
)

// deadRows looks at what vacuum has to remove, and how many updates stayed
// within their page. A change of state is in an index and never does; a renewal
// always should.
func (e *exam) deadRows(ctx context.Context) ([]Finding, error) {
	const name = "dead_rows"
	var live, dead, updated, hot int64
	var vacuumed *time.Time
	err := e.conn.QueryRow(ctx, `select n_live_tup, n_dead_tup, n_tup_upd, n_tup_hot_upd, greatest(last_vacuum, last_autovacuum)
		from pg_stat_all_tables where relid = 'fenceline.jobs'::regclass`).Scan(&live, &dead, &updated, &hot, &vacuumed)
	if err != nil {
		return nil, err
	}
	when := "never vacuumed"
	if vacuumed != nil {
		when = "last vacuumed " + vacuumed.UTC().Format(time.RFC3339)
	}
	within := "none yet"
	if updated > 0 {
		within = fmt.Sprintf("%d%% within their page", 100*hot/updated)
	}
	share := float64(dead) / float64(max(live+dead, 1))
	if dead < e.limits.DeadRows {
		share = 0
	}
	return []Finding{graded(name, share, 0.2, 0.6,
		"See oldest_transaction and oldest_snapshot for what keeps them; if nothing does, run `vacuum fenceline.jobs` and let autovacuum work harder.",
		"Table jobs: %d live rows, %d dead, %s; updates: %s.", live, dead, when, within)}, nil
}

// bloat compares a table's size with what its rows would need.
func (e *exam) bloat(ctx context.Context) ([]Finding, error) {
	const name = "bloat"
	var size, indexes int64
	var rows, width float64
	err := e.conn.QueryRow(ctx, `
		select pg_relation_size(c.oid), pg_indexes_size(c.oid), greatest(c.reltuples, 0)::float8,
		       coalesce((select sum(s.avg_width * (1 - s.null_frac)) from pg_stats s where s.schemaname = 'fenceline' and s.tablename = 'jobs'), 0)::float8
		from pg_class c where c.oid = 'fenceline.jobs'::regclass`).Scan(&size, &indexes, &rows, &width)
	if err != nil {
		return nil, err
	}
	if width == 0 {
		return []Finding{ok(name, "Table jobs: %s and %s of indexes; not analyzed yet.", bytesText(size), bytesText(indexes))}, nil
	}
	const header, fill = 28, 0.8 // of a row, with its pointer; of a page
	ideal := max(rows*(width+header)/fill, 8192)
	factor := float64(size) / ideal
	if size < e.limits.BloatBytes {
		factor = 0
	}
	return []Finding{graded(name, factor, 4, 20,
		"Most of the table is empty: when nothing holds old snapshots any more, repack it (pg_repack, or `vacuum full` in a pause).",
		"Table jobs: %s for about %.0f rows that need %s; %s of indexes.", bytesText(size), rows, bytesText(int64(ideal)), bytesText(indexes))}, nil
}

// partitions looks how far ahead the log's days are made.
func (e *exam) partitions(ctx context.Context) ([]Finding, error) {
	const name = "partitions"
	var ahead float64 // seconds
	var stray bool
	err := e.conn.QueryRow(ctx, `
		select coalesce(extract(epoch from max(until) - clock_timestamp()), 0)::float8, exists (select from fenceline.transitions_rest)
		from (select substring(pg_get_expr(c.relpartbound, c.oid) from $re$TO \('([^']+)'\)$re$)::timestamptz as until
		      from pg_inherits i join pg_class c on c.oid = i.inhrelid
		      where i.inhparent = 'fenceline.transitions'::regclass) p`).Scan(&ahead, &stray)
	if err != nil {
		return nil, err
	}
	days := ahead / 86400
	const advice = "Keep one `fenceline serve` or `fenceline worker` running, which makes them hourly; see its log if it does."
	switch {
	case days <= 0:
		return []Finding{fail(name, advice, "No partition of the log holds today: transitions go to the rest partition.")}, nil
	case days < 3:
		return []Finding{warn(name, advice, "Partitions of the log are made %.1f days ahead.", days)}, nil
	case stray:
		return []Finding{warn(name, "Nothing is lost; retention drops whole days, and leaves these rows where they are.",
			"Partitions of the log are made %.1f days ahead, and some transitions lie in the rest partition.", days)}, nil
	}
	return []Finding{ok(name, "Partitions of the log are made %.1f days ahead.", days)}, nil
}
