package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fenceline/fenceline/migrations"
)

// Upgrade migrates the schema under load, by three processes of a newer
// program at once, while workers of this one work on. Whoever starts from then
// on is the newer program. Source is this module's directory, from which it is
// built with one migration more.
func Upgrade(source string, goal Goal) Scene {
	u := &upgrade{source: source}
	return Scene{
		Name: "two versions", Goal: goal, Gap: 2 * time.Second, Small: ofProcesses, Faults: ofServer[:2],
		lacking: func(ctx context.Context) string {
			if err := exec.CommandContext(ctx, "go", "version").Run(); err != nil {
				return "the newer program cannot be built: there is no go command"
			}
			return ""
		},
		around: u.build,
		Once:   []fault{{name: "schema migrated under load, both versions at work", server: true, do: u.migrate}},
	}
}

type upgrade struct {
	source  string
	program string // the newer one
}

// nextMigration touches both tables that every statement reads, as a real one
// would.
const nextMigration = `-- +goose Up
alter table fenceline.jobs add column next_version text;
alter table fenceline.transitions add column next_version text;
create index jobs_next_version on fenceline.jobs (next_version) where next_version is not null;

-- +goose Down
drop index fenceline.jobs_next_version;
alter table fenceline.transitions drop column next_version;
alter table fenceline.jobs drop column next_version;
`

func (u *upgrade) build(ctx context.Context, r *Rig) error {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return err
	}
	migration, overlay := filepath.Join(r.dir, "next.sql"), filepath.Join(r.dir, "overlay.json")
	place := filepath.Join(u.source, "migrations", fmt.Sprintf("%04d_next_version.sql", len(names)+1))
	encoded, err := json.Marshal(map[string]any{"Replace": map[string]string{place: migration}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(migration, []byte(nextMigration), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(overlay, encoded, 0o644); err != nil {
		return err
	}
	u.program = filepath.Join(r.dir, "next")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", u.program, "./cmd/internal/faults/soak")
	cmd.Dir = u.source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the newer program: %w: %s", err, out)
	}
	return nil
}

func (u *upgrade) migrate(ctx context.Context, r *Rig, _ *rand.Rand) error {
	var old, now int64
	const version = "select max(version_id) from fenceline.schema_version"
	if err := r.ask(ctx, version, &old); err != nil {
		return err
	}
	// Whoever is killed from now on comes back as the newer program, and waits
	// until the schema fits it.
	for _, m := range r.all() {
		m.mu.Lock()
		m.program = []string{u.program}
		m.mu.Unlock()
	}
	encoded, err := json.Marshal(role{Play: playMigrator, URL: r.url})
	if err != nil {
		return err
	}
	var said bytes.Buffer
	var all []*exec.Cmd
	for range 3 {
		cmd := exec.CommandContext(ctx, u.program)
		cmd.Env = append(os.Environ(), RoleVariable+"="+string(encoded))
		cmd.Stderr = &said
		if _, err := cmd.StdinPipe(); err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			r.ledger.wrong(fmt.Sprintf("a migration failed: %v: %s", err, said.String()))
		}
	}
	if err := r.ask(ctx, version, &now); err != nil {
		return err
	}
	if now != old+1 {
		r.ledger.wrong(fmt.Sprintf("the schema is at version %d after the migration from %d", now, old))
	}
	return r.outlived(ctx)
}

// outlived waits until a worker that started before the migration completed a
// job after it, and one that started after it too.
func (r *Rig) outlived(ctx context.Context) error {
	workers := r.of(playWorker)
	if err := workers[0].kill(); err != nil {
		return err
	}
	var at time.Time
	if err := r.ask(ctx, "select clock_timestamp()", &at); err != nil {
		return err
	}
	return await(ctx, "both versions complete jobs on the new schema", func() (both bool, err error) {
		return both, r.ask(ctx, fmt.Sprintf(`select count(distinct split_part(worker, '.', 1)) >= 2 from fenceline.transitions
			where type = 'completed' and at > '%s' and worker like 'worker-%%'`, at.Format(time.RFC3339Nano)), &both)
	})
}
