package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const (
	longHistory = 5000 // renewals of one job
	pagesListen = "127.0.0.1:9483"
)

// sized is a server for many jobs: a tenth of the memory of the machine on which
// the documents' figures were taken, and few checkpoints.
var sized = map[string]string{"shared_buffers": "2GB", "max_wal_size": "8GB"}

// pages reads every page of a console among many jobs, one page after the other,
// and prints how long each took from the request to its last byte. Then it drains jobs.
func (m *machine) pages(ctx context.Context) error {
	server, _, err := m.startIn(ctx, cmp.Or(cli.Data, filepath.Join(m.dir, "pages")), sized)
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
	var filled bool
	if err := conn.QueryRow(ctx, "select to_regclass('filled') is not null").Scan(&filled); err != nil {
		return err
	}
	if !filled {
		if err := fill(ctx, st, address(server), cli.Stored); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "create table filled ()"); err != nil {
			return err
		}
	}
	if err := settle(ctx, st); err != nil {
		return err
	}
	long, err := renewals(ctx, st, longHistory)
	if err != nil {
		return err
	}
	cmd, err := m.spawn(address(server), "serve", "--workers", "0", "--listen", pagesListen)
	if err != nil {
		return err
	}
	defer end([]*exec.Cmd{cmd})
	base := "http://" + pagesListen
	if err := ready(ctx, base); err != nil {
		return err
	}
	all, err := addresses(ctx, st, conn, long)
	if err != nil {
		return err
	}
	fmt.Printf("\n%-34s %9s %10s %10s %10s\n", "page", "KiB", "p50", "p99", "most")
	for _, a := range all {
		if err := readAgain(ctx, base, a); err != nil {
			return err
		}
	}
	if err := detected(ctx, st); err != nil {
		return err
	}
	end([]*exec.Cmd{cmd})
	return m.beside(ctx, st, conn, server)
}

type page struct{ name, url string }

// addresses are the pages, with an incident that the console opened itself.
func addresses(ctx context.Context, st *store.Store, conn *pgx.Conn, long int64) ([]page, error) {
	var usual, incident int64
	var now time.Time
	err := conn.QueryRow(ctx, "select min(id), clock_timestamp() from fenceline.jobs where id > (select max(id) / 2 from fenceline.jobs) and state = 'completed'").Scan(&usual, &now)
	if err != nil {
		return nil, err
	}
	for ctx.Err() == nil && incident == 0 {
		in, err := st.Incidents(ctx)
		if err != nil {
			return nil, err
		}
		if len(in.Active) > 0 {
			incident = in.Active[0].ID
		}
		time.Sleep(100 * time.Millisecond)
	}
	var u views.URLs
	all := []page{{"home", u.Home()}, {"home, an hour ago", u.Past(now.Add(-time.Hour))}, {"home, a week ago", u.Past(now.AddDate(0, 0, -7))},
		{"jobs", u.At(views.RouteJobs)}}
	for _, q := range []string{"state:completed", "state:discarded", "state:available", "state:running", "queue:queue-3", "kind:kind-7", "key:order-7-777",
		fmt.Sprintf("id:%d", usual), "worker:host-7/1", "tag:urgent", "older:1d", "newer:1h", "finished:>-2h", "attempts:2", "error:Timeout",
		"lease:expired", "refused:yes"} {
		a := u.Search(q)
		if a == u.At(views.RouteJobs) {
			return nil, fmt.Errorf("no search: %q", q)
		}
		all = append(all, page{"jobs " + q[:min(len(q), 24)], a})
	}
	return append(all, page{"job", u.Job(usual)}, page{fmt.Sprintf("job with %d renewals", longHistory), u.Job(long)},
		page{"incidents", u.At(views.RouteIncidents)}, page{"incident", u.Incident(incident)},
		page{"queues", u.At(views.RouteQueues)}, page{"queue", u.Queue("queue-3")}, page{"kind", u.Kind("kind-7")},
		page{"workers", u.At(views.RouteWorkers)}, page{"operations", u.At(views.RouteOperations)}, page{"audit", u.At(views.RouteAudit)},
		page{"verification", u.At(views.RouteVerification)}), errors.Join(ctx.Err())
}

func readAgain(ctx context.Context, base string, p page) error {
	var took []time.Duration
	var size int64
	for i := -cli.Reads / 10; i < cli.Reads; i++ {
		began := time.Now()
		n, err := get(ctx, base+p.url)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if size = n; i >= 0 {
			took = append(took, time.Since(began))
		}
	}
	fmt.Printf("%-34s %9.1f %10s %10s %10s\n", p.name, float64(size)/1024, quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1))
	return nil
}
