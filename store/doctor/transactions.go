package doctor

import (
	"context"
	"fmt"
	"time"
)

// visibility tells whether other sessions can be seen at all.
func (e *exam) visibility(ctx context.Context) ([]Finding, error) {
	const name = "visibility"
	var (
		sees bool
		who  string
	)
	if err := e.conn.QueryRow(ctx, `select pg_has_role(current_user, 'pg_read_all_stats', 'usage'), current_user`).Scan(&sees, &who); err != nil {
		return nil, err
	}
	if !sees {
		return []Finding{warn(name, "Grant pg_monitor to "+who+", or look again as a role that has it (--owner-database-url).",
			"Other roles' sessions cannot be seen, so the checks of transactions and snapshots miss them.")}, nil
	}
	return []Finding{ok(name, "Every session can be seen.")}, nil
}

// oldestTransaction looks for one that holds the feed's horizon or rows.
func (e *exam) oldestTransaction(ctx context.Context) ([]Finding, error) {
	const name = "oldest_transaction"
	var pid int64
	var user, application, state string
	var age float64
	err := e.conn.QueryRow(ctx, `
		select coalesce(a.pid, 0), coalesce(a.usename, ''), coalesce(a.application_name, ''), coalesce(a.state, ''), coalesce(a.age, 0)::float8
		from (select) one left join lateral (
		  select pid, usename, application_name, state, extract(epoch from clock_timestamp() - xact_start) as age
		  from pg_stat_activity
		  where xact_start is not null and backend_type = 'client backend' and pid <> pg_backend_pid()
		  order by xact_start limit 1) a on true`).Scan(&pid, &user, &application, &state, &age)
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return []Finding{ok(name, "No other session is in a transaction.")}, nil
	}
	return []Finding{graded(name, seconds(age), e.limits.TransactionWarn, e.limits.TransactionFail,
		"End it in its application, or with pg_terminate_backend: while it is open, dead rows stay, claims slow down, and a writing one holds the feed's horizon back.",
		"%s old: process %d of %s (%s), %s.", seconds(age), pid, user, orNone(application), state)}, nil
}

// oldestSnapshot looks for whatever keeps dead rows from being removed.
func (e *exam) oldestSnapshot(ctx context.Context) ([]Finding, error) {
	const name = "oldest_snapshot"
	var holder string
	var age int64
	err := e.conn.QueryRow(ctx, `
		select coalesce(h.holder, ''), coalesce(h.age, 0)
		from (select) one left join lateral (
		  select holder, age from (
		    select 'process ' || pid || ' of ' || coalesce(usename, backend_type), age(backend_xmin) from pg_stat_activity
		      where backend_xmin is not null and pid <> pg_backend_pid()
		    union all select 'replication slot ' || slot_name, greatest(age(xmin), age(catalog_xmin)) from pg_replication_slots
		    union all select 'prepared transaction ' || gid, age(transaction) from pg_prepared_xacts
		    union all select 'standby ' || coalesce(application_name, ''), age(backend_xmin) from pg_stat_replication
		  ) all_holders (holder, age)
		  where age is not null order by age desc limit 1) h on true`).Scan(&holder, &age)
	if err != nil {
		return nil, err
	}
	if holder == "" {
		return []Finding{ok(name, "Nobody holds an old snapshot.")}, nil
	}
	return []Finding{graded(name, age, e.limits.HorizonWarn, e.limits.HorizonFail,
		"End or drop what holds it: no dead row since then can be removed.",
		"The oldest snapshot is %s old: %s.", plural(age, "transaction"), holder)}, nil
}

func (e *exam) prepared(ctx context.Context) ([]Finding, error) {
	const name = "prepared_transactions"
	var n int64
	var age float64
	err := e.conn.QueryRow(ctx, `select count(*), coalesce(extract(epoch from clock_timestamp() - min(prepared)), 0)::float8 from pg_prepared_xacts`).Scan(&n, &age)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return []Finding{ok(name, "There is none.")}, nil
	}
	return []Finding{graded(name, seconds(age), e.limits.PreparedWarn, e.limits.PreparedFail,
		"Commit or roll back what pg_prepared_xacts shows: a forgotten one holds rows and snapshots for ever, also over a restart.",
		"%s; the oldest is %s old.", plural(n, "prepared transaction"), seconds(age))}, nil
}

func (e *exam) notifyQueue(ctx context.Context) ([]Finding, error) {
	const name = "notify_queue"
	var used float64
	if err := e.conn.QueryRow(ctx, `select pg_notification_queue_usage()`).Scan(&used); err != nil {
		return nil, err
	}
	return []Finding{graded(name, used, e.limits.QueueWarn, e.limits.QueueFail,
		"End the session that listens and sits in a transaction (oldest_transaction names it): when the queue is full, every commit that notifies fails.",
		"%.2f%% of the notification queue is in use.", 100*used)}, nil
}

// clock compares the two clocks at the middle of a round trip, the quickest of
// a few.
func (e *exam) clock(ctx context.Context) ([]Finding, error) {
	const name = "clock"
	var best, off time.Duration
	for i := range 5 {
		var theirs time.Time
		before, began := e.cfg.Now(), time.Now()
		if err := e.conn.QueryRow(ctx, `select clock_timestamp()`).Scan(&theirs); err != nil {
			return nil, err
		}
		if took := time.Since(began); i == 0 || took < best {
			best, off = took, theirs.Sub(before.Add(took/2))
		}
	}
	which := "ahead of"
	if off < 0 {
		which = "behind"
	}
	return []Finding{graded(name, off.Abs(), e.limits.ClockWarn, e.limits.ClockFail,
		"Set both clocks by NTP: no lease depends on this machine's, but its logs will not agree with the timelines.",
		"The database's clock is %s %s this machine's (±%s).", off.Abs().Round(time.Millisecond), which, (best / 2).Round(10*time.Microsecond))}, nil
}

func orNone(s string) string {
	if s == "" {
		return "no application name"
	}
	return fmt.Sprintf("application %q", s)
}
