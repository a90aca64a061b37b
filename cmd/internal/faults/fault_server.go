package faults

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/cmd/internal/process"
	"github.com/fenceline/fenceline/store"
)

// inEnqueue is in the statement that enqueues a job.
const inEnqueue = "fenceline.enqueue("

// sessions are those of the processes: everybody's but this package's own.
const sessions = `from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
	and application_name <> 'faults'`

func terminated(ctx context.Context, r *Rig, _ *rand.Rand) error {
	return r.ask(ctx, "select count(pg_terminate_backend(pid)) "+sessions)
}

// listenersKilled ends the sessions that were made to listen; what is notified
// until they are back is heard by nobody.
func listenersKilled(ctx context.Context, r *Rig, _ *rand.Rand) error {
	var n int
	err := r.ask(ctx, "select count(pg_terminate_backend(pid)) "+sessions+
		" and (application_name = 'fenceline listener' or query ilike 'listen %')", &n)
	if err == nil && n == 0 {
		return errors.New("nobody listens")
	}
	return err
}

// frozen stops the processes of every session where they are, with the locks
// that they hold: the disk hangs, or the machine has no time for them.
func frozen(ctx context.Context, r *Rig, rng *rand.Rand) error {
	conn, err := r.owner(ctx)
	if err != nil {
		return err
	}
	rows, err := conn.Query(ctx, "select pid "+sessions)
	if err != nil {
		conn.Close(ctx)
		return err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	conn.Close(ctx)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		process.Pause(pid) // one that ended meanwhile is no loss
	}
	rest(ctx, between(rng, lease/4, 3*lease/2))
	for _, pid := range pids {
		process.Continue(pid)
	}
	return nil
}

// readOnly lets the server refuse every write, as a standby does.
func readOnly(ctx context.Context, r *Rig, rng *rand.Rand) error {
	set := func(value string) error {
		conn, err := r.owner(ctx)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err := conn.Exec(ctx, "alter system set default_transaction_read_only = "+value); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "select pg_reload_conf()")
		return err
	}
	if err := set("on"); err != nil {
		return err
	}
	rest(ctx, between(rng, lease/2, 3*lease/2))
	return await(ctx, "the database is writable again", func() (bool, error) { err := set("off"); return err == nil, err })
}

// crowded takes every connection that the server has left, and makes one
// process look for new ones.
func crowded(ctx context.Context, r *Rig, rng *rand.Rand) error {
	var all []*pgx.Conn
	defer func() {
		for _, conn := range all {
			conn.Close(context.WithoutCancel(ctx))
		}
	}()
	url := r.current().URL("fenceline", store.RuntimeRole)
	for {
		conn, err := pgx.Connect(ctx, url)
		if err != nil && len(all) == 0 {
			return err
		}
		if err != nil {
			break
		}
		all = append(all, conn)
	}
	pick(rng, r.all()).relay.Cut()
	rest(ctx, between(rng, lease/2, 3*lease/2))
	return nil
}
