package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fenceline/fenceline/store/embedded"
)

// Failover kills the primary and promotes its synchronous standby. (An
// asynchronous one may lose what was acknowledged; that is PostgreSQL's promise,
// and no worker can mend it.)
func Failover(goal Goal) Scene {
	f := &failover{}
	return Scene{
		Name: "failover", Goal: goal, around: f.prepare, Gap: 2 * time.Second, Small: ofProcesses, Faults: ofServer[:2],
		Once: []fault{{name: "primary killed, standby promoted", server: true, do: f.promote}},
	}
}

type failover struct {
	standby *embedded.Server
	config  embedded.Config
}

// prepare makes a standby of a copy of the data, and lets commits wait for it.
func (f *failover) prepare(ctx context.Context, r *Rig) error {
	if err := r.current().Stop(ctx); err != nil {
		return err
	}
	f.config = embedded.Config{DataDir: filepath.Join(r.dir, "standby"), Settings: maps.Clone(r.config.Settings)}
	if err := os.Mkdir(f.config.DataDir, 0o755); err != nil {
		return err
	}
	from, to := filepath.Join(r.config.DataDir, "data"), filepath.Join(f.config.DataDir, "data")
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the cluster: %w: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(to, "standby.signal"), nil, 0o644); err != nil {
		return err
	}
	r.config.Settings["synchronous_standby_names"] = "*"
	r.config.Settings["wal_keep_size"] = "512MB"
	if err := f.startBehind(ctx, r); err != nil {
		return err
	}
	return await(ctx, "the standby follows", func() (follows bool, err error) {
		return follows, r.ask(ctx, "select exists (select from pg_stat_replication where sync_state = 'sync' and state = 'streaming')", &follows)
	})
}

// startBehind starts both. The primary answers its own start without a standby,
// because nothing is written by it.
func (f *failover) startBehind(ctx context.Context, r *Rig) error {
	if err := r.startServer(ctx); err != nil {
		return err
	}
	f.config.Settings["primary_conninfo"] = fmt.Sprintf("host=%s port=5432 user=%s application_name=standby",
		filepath.Join(r.config.DataDir, "run"), embedded.Superuser)
	standby, err := embedded.Start(ctx, f.config)
	if err != nil {
		return err
	}
	f.standby = standby
	r.onClose(func() {
		if r.current() != standby {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			standby.Stop(ctx)
		}
	})
	return nil
}

func (f *failover) promote(ctx context.Context, r *Rig, _ *rand.Rand) error {
	old := r.current()
	if old == f.standby {
		return errors.New("there is no standby left")
	}
	p, err := os.FindProcess(old.PID())
	if err != nil {
		return err
	}
	p.Signal(syscall.SIGQUIT)
	<-old.Done()
	if err := old.Stop(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.server, r.config = f.standby, f.config
	r.url = f.standby.URL(embedded.Superuser, embedded.Superuser)
	r.mu.Unlock()
	return await(ctx, "the standby is the primary", func() (promoted bool, err error) {
		return promoted, r.ask(ctx, "select pg_promote(true, 60) and not pg_is_in_recovery()", &promoted)
	})
}
