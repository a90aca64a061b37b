package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
	"github.com/fenceline/fenceline/worker"
)

// processes drains the same number of jobs with more and more processes.
func (m *machine) processes(ctx context.Context) error {
	server, _, err := m.start(ctx, "processes", nil)
	if err != nil {
		return err
	}
	defer server.Stop(context.WithoutCancel(ctx))
	st, err := store.Open(ctx, store.Config{URL: address(server), MaxConns: 4})
	if err != nil {
		return err
	}
	defer st.Close()
	conn, err := pgx.Connect(ctx, address(server))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	fmt.Printf("\n%-28s %8s %10s %18s %12s %12s\n", "processes", "jobs", "jobs/s", "of each worker", "page p50", "page p99")
	var start string
	if err := conn.QueryRow(ctx, "select pg_current_wal_lsn()::text").Scan(&start); err != nil {
		return err
	}
	for _, l := range []struct{ workers, consoles int }{{1, 0}, {2, 0}, {4, 0}, {4, 2}} {
		if err := m.drain(ctx, st, conn, server, l.workers, l.consoles); err != nil {
			return err
		}
	}
	report, err := st.Verify(ctx)
	if err != nil {
		return err
	}
	var wal, jobs, log float64
	err = conn.QueryRow(ctx, `select pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)::float8, pg_total_relation_size('fenceline.jobs')::float8,
		(select sum(pg_total_relation_size(relid)) from pg_partition_tree('fenceline.transitions'))::float8`, start).Scan(&wal, &jobs, &log)
	if err != nil {
		return err
	}
	n := float64(report.Jobs)
	fmt.Printf("of each job, enqueued and worked: %.0f bytes of WAL, %.0f of jobs, %.0f of log, indexes included; %.2f transitions\n", wal/n, jobs/n, log/n, float64(report.Transitions)/n)
	fmt.Printf("verify: ok %v, %d jobs, %d transitions, %d refused\n", report.OK, report.Jobs, report.Transitions, report.Refused)
	return nil
}

// drain prints what a layout of processes does.
func (m *machine) drain(ctx context.Context, st *store.Store, conn *pgx.Conn, server *embedded.Server, workers, consoles int) error {
	var all []*exec.Cmd
	defer func() { end(all) }()
	var pages []*reader
	for i := range consoles {
		listen := fmt.Sprintf("127.0.0.1:%d", 9481+i)
		cmd, err := m.spawn(address(server), "serve", "--workers", "0", "--listen", listen)
		if err != nil {
			return err
		}
		all = append(all, cmd)
		r := read(ctx, "http://"+listen, "/", "/jobs", "/jobs?state=completed")
		if err := ready(ctx, r.base); err != nil {
			return err
		}
		pages = append(pages, r)
	}
	rate, each, err := m.rate(ctx, st, conn, server, fmt.Sprintf("q%d-%d", workers, consoles), workers)
	if err != nil {
		return err
	}
	var took []time.Duration
	for _, r := range pages {
		took = append(took, r.stop()...)
	}
	fmt.Printf("%-28s %8d %10.0f %18s %12s %12s\n", fmt.Sprintf("%d workers, %d consoles", workers, consoles), cli.Jobs, rate,
		fmt.Sprintf("%d–%d", slices.Min(each), slices.Max(each)), quantile(took, 0.5), quantile(took, 0.99))
	return nil
}

// rate is how many jobs a second worker processes finish, from the first claim
// to the last result, and how many jobs each of them had.
func (m *machine) rate(ctx context.Context, st *store.Store, conn *pgx.Conn, server *embedded.Server, queue string, workers int) (float64, []int64, error) {
	first, err := enqueue(ctx, st, queue, cli.Jobs)
	if err != nil {
		return 0, nil, err
	}
	if _, err := conn.Exec(ctx, "vacuum analyze fenceline.jobs"); err != nil {
		return 0, nil, err
	}
	var all []*exec.Cmd
	defer func() { end(all) }()
	for range workers {
		cmd, err := m.spawn(address(server), "worker", "--workers", "0", "--queue", queue+"=500")
		if err != nil {
			return 0, nil, err
		}
		all = append(all, cmd)
	}
	for left := cli.Jobs; left > 0; time.Sleep(50 * time.Millisecond) {
		if err := conn.QueryRow(ctx, "select count(*) from fenceline.jobs where id >= $1 and queue = $2 and state <> 'completed'", first, queue).Scan(&left); err != nil {
			return 0, nil, err
		}
	}
	var seconds float64
	var each []int64
	err = conn.QueryRow(ctx, `
		with of as (select worker, count(*) as n, min(claimed_at) as began, max(finished_at) as ended from fenceline.jobs where id >= $1 and queue = $2 group by worker)
		select extract(epoch from max(ended) - min(began))::float8, array_agg(n order by n) from of`, first, queue).Scan(&seconds, &each)
	return float64(cli.Jobs) / seconds, each, err
}

// enqueue returns the lowest id of the jobs it made.
func enqueue(ctx context.Context, st *store.Store, queue string, n int) (first int64, err error) {
	batch := slices.Repeat([]store.Request{{Kind: worker.KindNoop, Queue: queue, Actor: "scale"}}, min(n, 5000))
	for ; n > 0; n -= len(batch) {
		made, err := st.EnqueueMany(ctx, batch[:min(n, len(batch))])
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = made[0].ID
		}
	}
	return first, nil
}
