package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
)

// beside drains the same number of jobs in turn among the many, and in a
// database that had none.
func (m *machine) beside(ctx context.Context, st *store.Store, conn *pgx.Conn, server *embedded.Server) error {
	small, _, err := m.start(ctx, "small", sized)
	if err != nil {
		return err
	}
	defer small.Stop(context.WithoutCancel(ctx))
	smallStore, err := store.Open(ctx, store.Config{URL: address(small), MaxConns: 4})
	if err != nil {
		return err
	}
	defer smallStore.Close()
	smallConn, err := pgx.Connect(ctx, address(small))
	if err != nil {
		return err
	}
	defer smallConn.Close(context.WithoutCancel(ctx))
	fmt.Printf("\n%d jobs drained, jobs/s %12s %12s\n", cli.Jobs, "among many", "alone")
	for i := range cli.Rounds {
		queue := fmt.Sprintf("round-%d-%d", time.Now().Unix(), i)
		many, _, err := m.rate(ctx, st, conn, server, queue, 1)
		if err != nil {
			return err
		}
		alone, _, err := m.rate(ctx, smallStore, smallConn, small, queue, 1)
		if err != nil {
			return err
		}
		fmt.Printf("%28s %12.0f %12.0f\n", "", many, alone)
	}
	return nil
}

// detected lets jobs of a new kind fail, and waits until the console has made an
// incident of it.
func detected(ctx context.Context, st *store.Store) error {
	kind := fmt.Sprintf("broken-%d", time.Now().Unix())
	began := time.Now()
	for range 30 {
		if _, err := liveOne(ctx, st, store.Request{Kind: kind, Queue: "broken", Actor: "scale"}, func(l *life) error { return l.first(l.claim(lease), l.discard()) }); err != nil {
			return err
		}
	}
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		in, err := st.Incidents(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(in.Active, func(i store.Incident) bool { return i.Kind == kind }); i >= 0 {
			fmt.Printf("\nfailures of a new kind were an incident (%s) %s after the first\n", in.Active[i].Rule, time.Since(began).Round(100*time.Millisecond))
			return nil
		}
	}
	return ctx.Err()
}
