package doctor

import (
	"context"
	"strings"
	"time"
)

// durability looks at what an acknowledged commit is worth after a crash.
func (e *exam) durability(ctx context.Context) ([]Finding, error) {
	var fsync, pages, commit string
	err := e.conn.QueryRow(ctx, `select current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`).
		Scan(&fsync, &pages, &commit)
	if err != nil {
		return nil, err
	}
	found := []Finding{
		ok("fsync", "fsync is on."),
		ok("full_page_writes", "full_page_writes is on."),
		ok("synchronous_commit", "synchronous_commit is %s.", commit),
	}
	if fsync != "on" {
		found[0] = fail("fsync", "Set fsync = on: a crash of the machine can destroy the database.", "fsync is %s.", fsync)
	}
	if pages != "on" {
		found[1] = fail("full_page_writes", "Set full_page_writes = on, unless the storage itself never tears a page.", "full_page_writes is %s.", pages)
	}
	if commit == "off" {
		found[2] = warn("synchronous_commit",
			"Fenceline's own sessions set it on; set it on for every role that calls fenceline.enqueue, or a crash loses jobs that were acknowledged.",
			"synchronous_commit is off for this role and database.")
	}
	return found, nil
}

func (e *exam) autovacuum(ctx context.Context) ([]Finding, error) {
	const name = "autovacuum"
	var global string
	var without *string
	err := e.conn.QueryRow(ctx, `select current_setting('autovacuum'),
		(select string_agg(c.relname, ', ' order by c.relname)
		 from pg_class c join pg_namespace n on n.oid = c.relnamespace
		 where n.nspname = 'fenceline' and c.relkind = 'r'
		   and exists (select from unnest(c.reloptions) o where o ~* '^autovacuum_enabled=(false|off|no|0)$'))`).Scan(&global, &without)
	switch {
	case err != nil:
		return nil, err
	case global != "on":
		return []Finding{fail(name, "Set autovacuum = on: dead rows slow every claim down, without end.", "autovacuum is %s.", global)}, nil
	case without != nil:
		return []Finding{fail(name, "Reset autovacuum_enabled on these tables.", "autovacuum is switched off for %s.", *without)}, nil
	}
	return []Finding{ok(name, "autovacuum is on.")}, nil
}

// needed is what one process of Fenceline can have open: its pool, the renewals'
// own connections and a listener.
const needed = 16 + 2 + 1

func (e *exam) connections(ctx context.Context) ([]Finding, error) {
	const name = "connections"
	var server, database, role int64 // how many more each allows; -1 for no bound
	err := e.conn.QueryRow(ctx, `
		select current_setting('max_connections')::bigint
		       - current_setting('superuser_reserved_connections')::bigint
		       - coalesce(current_setting('reserved_connections', true), '0')::bigint
		       - (select count(*) from pg_stat_activity where backend_type = 'client backend'),
		       (select case when d.datconnlimit < 0 then -1
		               else greatest(0, d.datconnlimit - (select count(*) from pg_stat_activity a where a.datid = d.oid and a.backend_type = 'client backend')) end
		        from pg_database d where d.datname = current_database()),
		       (select case when r.rolconnlimit < 0 then -1
		               else greatest(0, r.rolconnlimit - (select count(*) from pg_stat_activity a where a.usesysid = r.oid and a.backend_type = 'client backend')) end
		        from pg_roles r where r.rolname = current_user)`).Scan(&server, &database, &role)
	if err != nil {
		return nil, err
	}
	free, by := server, "max_connections"
	if database >= 0 && database < free {
		free, by = database, "the database's connection limit"
	}
	if role >= 0 && role < free {
		free, by = role, "the role's connection limit"
	}
	const advice = "Raise it, or run fewer processes: one needs up to 19 connections, each process its own."
	switch {
	case free < 4:
		return []Finding{fail(name, advice, "%s left by %s.", capital(plural(max(free, 0), "connection")), by)}, nil
	case free < needed:
		return []Finding{warn(name, advice, "%s left by %s.", capital(plural(free, "connection")), by)}, nil
	}
	return []Finding{ok(name, "%s left by %s; one process uses up to %d.", capital(plural(free, "connection")), by, needed)}, nil
}

// timeouts looks at those that Fenceline does not set for its own sessions.
func (e *exam) timeouts(ctx context.Context) ([]Finding, error) {
	rows, err := e.conn.Query(ctx, `select name, setting::bigint from pg_settings
		where name in ('idle_session_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout') and unit = 'ms'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := map[string]time.Duration{}
	for rows.Next() {
		var setting string
		var ms int64
		if err := rows.Scan(&setting, &ms); err != nil {
			return nil, err
		}
		set[setting] = time.Duration(ms) * time.Millisecond
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return []Finding{judgeTimeouts(set)}, nil
}

func judgeTimeouts(set map[string]time.Duration) Finding {
	const name = "timeouts"
	var wrong []string
	if t := set["idle_session_timeout"]; t > 0 {
		wrong = append(wrong, "idle_session_timeout is "+t.String()+", which cuts pooled and listening connections")
	}
	if t := set["transaction_timeout"]; t > 0 && t < 15*time.Second {
		wrong = append(wrong, "transaction_timeout is "+t.String()+", which is shorter than the statements' own bound of 15s")
	}
	if len(wrong) > 0 {
		return warn(name, "Set it to 0 for Fenceline's role; its sessions bound their statements, their waits and their idle transactions themselves.",
			"%s.", capital(strings.Join(wrong, "; ")))
	}
	others := "others' idle transactions end after " + set["idle_in_transaction_session_timeout"].String()
	if set["idle_in_transaction_session_timeout"] == 0 {
		others = "others' idle transactions are not bounded"
	}
	return ok(name, "Nothing cuts Fenceline's sessions; %s.", others)
}
