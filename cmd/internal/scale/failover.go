package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/cmd/internal/process"
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
	"github.com/fenceline/fenceline/worker"
)

// failover works on a primary with one standby, reads pages from the standby,
// stops what the standby receives for a while, kills the primary, promotes the
// standby, and counts what had been acknowledged and is not there.
func (m *machine) failover(ctx context.Context, synchronous bool) error {
	name := map[bool]string{false: "asynchronous", true: "synchronous"}[synchronous]
	primary, standby, err := m.pair(ctx, name, synchronous)
	if err != nil {
		return err
	}
	defer primary.Stop(context.WithoutCancel(ctx))
	defer standby.Stop(context.WithoutCancel(ctx))
	st, err := store.Open(ctx, store.Config{URL: address(primary)})
	if err != nil {
		return err
	}
	w := &writers{st: st}
	working, stop := context.WithCancel(ctx)
	defer stop()
	for i := range 8 {
		w.all.Go(func() { w.work(working, fmt.Sprint("w", i)) })
	}
	fmt.Printf("\n%s standby\n", name)
	if err := m.pagesOfStandby(ctx, standby); err != nil {
		return err
	}
	if err := cut(ctx, primary, standby); err != nil {
		return err
	}
	p, err := os.FindProcess(primary.PID())
	if err != nil {
		return err
	}
	p.Signal(syscall.SIGQUIT)
	<-primary.Done()
	stop()
	w.all.Wait()
	st.Close()
	return w.account(ctx, standby)
}

// pair makes a primary and a standby of a copy of its data.
func (m *machine) pair(ctx context.Context, name string, synchronous bool) (*embedded.Server, *embedded.Server, error) {
	settings := map[string]string{"wal_level": "replica", "wal_keep_size": "1GB", "hot_standby": "on", "hot_standby_feedback": "on"}
	server, cfg, err := m.start(ctx, name+"-primary", settings)
	if err != nil {
		return nil, nil, err
	}
	if err := server.Stop(ctx); err != nil {
		return nil, nil, err
	}
	behind := embedded.Config{DataDir: filepath.Join(m.dir, name+"-standby"), Settings: maps.Clone(settings)}
	if err := os.Mkdir(behind.DataDir, 0o755); err != nil {
		return nil, nil, err
	}
	data := filepath.Join(behind.DataDir, "data")
	if out, err := exec.Command("cp", "-a", filepath.Join(cfg.DataDir, "data"), data).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("copy the cluster: %w: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644); err != nil {
		return nil, nil, err
	}
	if synchronous {
		cfg.Settings["synchronous_standby_names"] = "*"
	}
	primary, err := embedded.Start(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	behind.Settings["primary_conninfo"] = fmt.Sprintf("host=%s port=5432 user=%s application_name=standby",
		filepath.Join(cfg.DataDir, "run"), embedded.Superuser)
	standby, err := embedded.Start(ctx, behind)
	if err != nil {
		return nil, nil, errors.Join(err, primary.Stop(ctx))
	}
	return primary, standby, until(ctx, address(primary), "select exists (select from pg_stat_replication where state = 'streaming')")
}

func until(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var yes bool
		if err := conn.QueryRow(ctx, sql).Scan(&yes); err != nil {
			return err
		}
		if yes {
			return nil
		}
	}
	return fmt.Errorf("it never came true: %s", sql)
}

// pagesOfStandby reads pages from a console on the standby.
func (m *machine) pagesOfStandby(ctx context.Context, standby *embedded.Server) error {
	cmd, err := m.spawn(address(standby), "serve", "--workers", "0", "--listen", "127.0.0.1:9489")
	if err != nil {
		return err
	}
	defer end([]*exec.Cmd{cmd})
	r := read(ctx, "http://127.0.0.1:9489", "/", "/jobs", "/jobs?state=completed")
	if err := ready(ctx, r.base); err != nil {
		return err
	}
	time.Sleep(cli.Work)
	took := r.stop()
	for _, ask := range []struct{ method, path, body string }{{"GET", "/readyz", ""}, {"POST", "/api/v1/jobs", `{"kind": "noop"}`}} {
		said, err := answer(ctx, ask.method, "http://127.0.0.1:9489"+ask.path, ask.body)
		if err != nil {
			return err
		}
		fmt.Printf("  %s %s there: %s\n", ask.method, ask.path, said)
	}
	fmt.Printf("  pages read from the standby: %d, p50 %s, p99 %s\n", len(took), quantile(took, 0.5), quantile(took, 0.99))
	return nil
}

// cut stops what the standby receives, and lets the primary work on.
func cut(ctx context.Context, primary, standby *embedded.Server) error {
	conn, err := pgx.Connect(ctx, address(standby))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var receiver int
	if err := conn.QueryRow(ctx, "select pid from pg_stat_wal_receiver").Scan(&receiver); err != nil {
		return fmt.Errorf("find the receiver: %w", err)
	}
	if err := process.Pause(receiver); err != nil {
		return err
	}
	time.Sleep(cli.Cut)
	go func() {
		<-primary.Done()
		process.Continue(receiver)
	}()
	return nil
}

// writers enqueue, claim and complete, and remember what they were told.
type writers struct {
	st  *store.Store
	all sync.WaitGroup

	mu        sync.Mutex
	enqueued  []int64
	completed map[int64]uuid.UUID
	claimed   []store.Lease // acknowledged, and not completed when the primary was lost
}

func (w *writers) work(ctx context.Context, name string) {
	for ctx.Err() == nil {
		queue := "of-" + name
		made, err := w.st.Enqueue(ctx, store.Request{Kind: worker.KindNoop, Queue: queue})
		if err != nil {
			return
		}
		w.note(func() { w.enqueued = append(w.enqueued, made.ID) })
		claimed, err := w.st.Claim(ctx, store.ClaimParams{Worker: name, Queue: queue,
			Kinds: []store.KindLease{{Kind: worker.KindNoop, Lease: time.Hour}}, AttemptIDs: []uuid.UUID{uuid.Must(uuid.NewV7())}})
		if err != nil || len(claimed) != 1 {
			return
		}
		lease := claimed[0].Lease
		w.note(func() { w.claimed = append(w.claimed, lease) })
		out, err := w.st.Complete(ctx, name, []store.Completion{{Lease: lease, Result: json.RawMessage(`1`)}})
		if err != nil || out[0].Err != nil {
			return
		}
		w.note(func() {
			if w.completed == nil {
				w.completed = map[int64]uuid.UUID{}
			}
			w.completed[lease.JobID] = lease.AttemptID
		})
	}
}

func (w *writers) note(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// account promotes the standby and counts what is missing on it.
func (w *writers) account(ctx context.Context, standby *embedded.Server) error {
	began := time.Now()
	conn, err := pgx.Connect(ctx, address(standby))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var promoted bool
	if err := conn.QueryRow(ctx, "select pg_promote(true, 60)").Scan(&promoted); err != nil || !promoted {
		return fmt.Errorf("promote: %v %w", promoted, err)
	}
	st, err := store.Open(ctx, store.Config{URL: address(standby)})
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := st.Enqueue(ctx, store.Request{Kind: worker.KindNoop, Queue: "after"}); err != nil {
		return err
	}
	again := time.Since(began)
	done := make([]int64, 0, len(w.completed))
	for id := range w.completed {
		done = append(done, id)
	}
	var jobs, results int
	err = conn.QueryRow(ctx, `select (select count(*) from unnest($1::bigint[]) i where not exists (select from fenceline.jobs where id = i)),
		(select count(*) from unnest($2::bigint[]) i where not exists (select from fenceline.jobs where id = i and state = 'completed'))`, w.enqueued, done).Scan(&jobs, &results)
	if err != nil {
		return err
	}
	refused := 0
	// Whoever held a lease when the primary was lost offers its result to the
	// new one.
	var offers []store.Completion
	for _, l := range w.claimed {
		if _, completed := w.completed[l.JobID]; !completed {
			offers = append(offers, store.Completion{Lease: l, Result: json.RawMessage(`2`)})
		}
	}
	outcomes, err := st.Complete(ctx, "late", offers)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Err != nil {
			refused++
		}
	}
	report, err := st.Verify(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("  acknowledged: %d enqueued, %d completed; lost: %d jobs, %d results\n", len(w.enqueued), len(w.completed), jobs, results)
	fmt.Printf("  promoted and writable after %s; %d late results offered to it, %d refused; verify: ok %v, %d jobs\n",
		again.Round(time.Millisecond), len(offers), refused, report.OK, report.Jobs)
	return nil
}
