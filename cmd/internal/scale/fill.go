package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

const (
	days      = 14      // over which the copies lie
	firstCopy = 1000000 // the lowest id of a copy
	chunk     = 500     // copies of each job in a transaction
)

// fill makes jobs by copying, with the ids and times of their own, those whose
// histories the store wrote: rows of the log as they are, without knowing what
// they say. The log is counted and checked as if the jobs had been worked.
func fill(ctx context.Context, st *store.Store, url string, jobs int) error {
	copies := max(1, jobs/lived)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := live(ctx, st); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf(partitionsSQL, days+1)); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "create table lived as select id, row_number() over (order by id) - 1 as n from fenceline.jobs"); err != nil {
		return err
	}
	sql, err := copySQL(ctx, conn)
	if err != nil {
		return err
	}
	began := time.Now()
	chunks := make(chan int)
	var all sync.WaitGroup
	errs := make([]error, 2)
	failed, fail := context.WithCancel(ctx)
	defer fail()
	for i := range errs {
		all.Go(func() {
			if errs[i] = copyChunks(failed, url, sql, copies, chunks); errs[i] != nil {
				fail()
			}
		})
	}
	for from := 0; from < copies && failed.Err() == nil; from += chunk {
		select {
		case chunks <- from:
		case <-failed.Done():
		}
	}
	close(chunks)
	all.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "select setval(pg_get_serial_sequence('fenceline.jobs', 'id'), $1::bigint)", firstCopy+lived*copies); err != nil {
		return err
	}
	fmt.Printf("%d jobs copied in %s\n", lived*copies, time.Since(began).Round(time.Second))
	for _, table := range []string{"jobs", "transitions", "attempt_errors"} {
		if _, err := conn.Exec(ctx, "vacuum analyze fenceline."+table); err != nil {
			return err
		}
	}
	return nil
}

func copyChunks(ctx context.Context, url string, sql []string, copies int, chunks <-chan int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "set synchronous_commit = off"); err != nil {
		return err
	}
	apart := days * 24 * time.Hour / time.Duration(copies)
	for from := range chunks {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, s := range sql {
				if _, err := tx.Exec(ctx, s, from, min(from+chunk, copies)-1, copies, apart, firstCopy, lived); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// settle counts and checks the log to its end.
func settle(ctx context.Context, st *store.Store) error {
	began, n := time.Now(), 0
	for {
		r, err := st.Roll(ctx)
		if err != nil {
			return err
		}
		if n += r.Counted; !r.More && !r.Busy {
			break
		}
	}
	fmt.Printf("%d transitions counted in %s\n", n, time.Since(began).Round(time.Second))
	began, n = time.Now(), 0
	var found []store.Violation
	for {
		v, err := st.VerifyNext(ctx)
		if err != nil {
			return err
		}
		found = append(found, v.Found...)
		if n += v.Checked; !v.More && !v.Busy {
			break
		}
	}
	fmt.Printf("%d transitions checked in %s\n", n, time.Since(began).Round(time.Second))
	if len(found) > 0 {
		return fmt.Errorf("%d violations, the first: %+v", len(found), found[0])
	}
	return nil
}

// partitionsSQL makes the partitions of the log that the days before would have
// made.
const partitionsSQL = `
do $$
declare
  day date;
  name text;
begin
  for day in select generate_series(current_date - %d, current_date - 1, interval '1 day')::date loop
    name := 'transitions_' || to_char(day, 'YYYYMMDD');
    execute format('create table fenceline.%%I partition of fenceline.transitions for values from (%%L) to (%%L)',
      name, day::timestamp at time zone 'utc', (day + 1)::timestamp at time zone 'utc');
    execute format('grant select, insert on fenceline.%%I to fenceline_runtime', name);
  end loop;
end
$$`

// copySQL is a statement for each table that speaks of jobs. Copy 0 is the
// oldest; its times are as much earlier as all copies are apart.
func copySQL(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	var all []string
	for _, t := range []struct{ name, job, order string }{
		{"jobs", "id", "t.id"}, {"transitions", "job_id", "t.xid, t.id"}, {"attempt_errors", "job_id", "t.at"},
	} {
		rows, err := conn.Query(ctx, `
			select attname::text, atttypid::regtype::text from pg_attribute
			where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`, "fenceline."+t.name)
		if err != nil {
			return nil, err
		}
		var names, values []string
		var name, is string
		_, err = pgx.ForEachRow(rows, []any{&name, &is}, func() error {
			if t.name == "transitions" && (name == "id" || name == "xid") {
				return nil // the copy's own, in the order of the copies
			}
			value := "t." + name
			switch {
			case name == t.job:
				value = "$5::bigint + c.n * $6::bigint + l.n"
			case name == "key":
				value = "t.key || '-' || c.n"
			case is == "timestamp with time zone":
				value += " - ($3::int - c.n) * $4::interval"
			case is == "uuid":
				value = "md5(t." + name + "::text || c.n)::uuid"
			case name == "args":
				value = "t.args || jsonb_build_object('customer_id', c.n)"
			}
			names, values = append(names, name), append(values, value+" as "+name)
			return nil
		})
		if err != nil {
			return nil, err
		}
		columns := strings.Join(names, ", ")
		all = append(all, fmt.Sprintf(`
			insert into fenceline.%[1]s (%[2]s)
			select %[2]s from (
			  select %[3]s from generate_series($1::int, $2::int) c(n)
			  cross join fenceline.%[1]s t join lived l on l.id = t.%[4]s
			  order by c.n, %[5]s
			) as copies`, t.name, columns, strings.Join(values, ", "), t.job, t.order))
	}
	return all, nil
}
