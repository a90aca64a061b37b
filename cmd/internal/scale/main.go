// Command scale measures what docs/scaling.md says of several processes on one
// database, of a standby, and of a failover, and what docs/performance.md says of
// pages among millions of jobs. It builds the program, runs real
// processes of it on private PostgreSQL servers with fsync on, and prints a
// table.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/embedded"
)

var cli struct {
	Jobs int           `name:"jobs" default:"60000" help:"How many jobs each layout of processes drains."`
	Work time.Duration `name:"for" default:"8s" help:"How long work goes on before the primary is killed."`
	Cut  time.Duration `name:"cut" default:"2s" help:"For how long before that the standby receives nothing."`
	Only string        `name:"only" enum:"all,processes,failover,pages" default:"all" help:"Measure this alone; pages are measured only when asked for."`

	Stored int    `name:"stored" default:"1000000" help:"pages: among how many jobs, with five times as many transitions."`
	Reads  int    `name:"reads" default:"200" help:"pages: how often each page is read."`
	Rounds int    `name:"rounds" default:"3" help:"pages: how often jobs are drained among the many and alone."`
	Data   string `name:"data" type:"path" help:"pages: keep the database in this directory, and use the one that is there."`
}

func main() {
	kong.Parse(&cli, kong.Name("scale"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fenceline-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The servers of root's run as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	program := filepath.Join(dir, "fenceline")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/fenceline")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program (run this from the module's directory): %w", err)
	}
	m := &machine{dir: dir, program: program}
	fmt.Printf("%d cores, %s\n", runtime.NumCPU(), load())
	var errs []error
	if cli.Only == "all" || cli.Only == "processes" {
		errs = append(errs, m.processes(ctx))
	}
	if cli.Only == "all" || cli.Only == "failover" {
		errs = append(errs, m.failover(ctx, false), m.failover(ctx, true))
	}
	if cli.Only == "pages" {
		errs = append(errs, m.pages(ctx))
	}
	fmt.Println(load())
	return errors.Join(errs...)
}

// load is what else the machine had to do.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + string(raw[:min(14, len(raw)-1)])
}

type machine struct {
	dir, program string
}

// start runs a migrated server of its own.
func (m *machine) start(ctx context.Context, name string, settings map[string]string) (*embedded.Server, embedded.Config, error) {
	return m.startIn(ctx, filepath.Join(m.dir, name), settings)
}

func (m *machine) startIn(ctx context.Context, dir string, settings map[string]string) (*embedded.Server, embedded.Config, error) {
	cfg := embedded.Config{DataDir: dir, Settings: settings}
	if err := os.Mkdir(cfg.DataDir, 0o755); err != nil && !os.IsExist(err) {
		return nil, cfg, err
	}
	server, err := embedded.Start(ctx, cfg)
	if err != nil {
		return nil, cfg, err
	}
	if err := store.Migrate(ctx, address(server)); err != nil {
		return nil, cfg, errors.Join(err, server.Stop(ctx))
	}
	return server, cfg, nil
}

func address(s *embedded.Server) string { return s.URL(embedded.Superuser, embedded.Superuser) }

// spawn runs the program until it is told to stop.
func (m *machine) spawn(url string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(m.program, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url, "FENCELINE_LOG_LEVEL=error")
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

func end(all []*exec.Cmd) {
	for _, cmd := range all {
		cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range all {
		cmd.Wait()
	}
}
