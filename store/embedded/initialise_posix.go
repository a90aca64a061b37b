//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// initialise makes the cluster under another name and renames it when it is
// whole, so that a start that is killed half-way leaves nothing that looks like
// a cluster. The half-made one is the only thing this package ever deletes.
func (s *Server) initialise(ctx context.Context, cfg Config, l layout, who account, bins binaries) error {
	var said string
	for _, locale := range []string{"C.UTF-8", "C"} {
		if err := l.makeUnborn(who); err != nil {
			return err
		}
		var err error
		said, err = initdb(ctx, cfg, l, who, bins, locale)
		if err == nil {
			return l.bear()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("make the database cluster: %w", context.Cause(ctx))
		}
		if !strings.Contains(said, "locale") {
			break
		}
	}
	return errors.Join(explain(l.dir, "initdb could not make the database cluster", said), os.RemoveAll(l.unborn()))
}

func (l layout) makeUnborn(who account) error {
	if err := os.RemoveAll(l.unborn()); err != nil {
		return fmt.Errorf("clear a half-made cluster: %w", err)
	}
	if err := os.Mkdir(l.unborn(), 0o700); err != nil {
		return fmt.Errorf("make the cluster's directory: %w", err)
	}
	return who.give(l.unborn())
}

// bear gives the finished cluster its name, for good.
func (l layout) bear() error {
	if err := os.Remove(l.data()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the empty %s: %w", l.data(), err)
	}
	if err := os.Rename(l.unborn(), l.data()); err != nil {
		return fmt.Errorf("name the new cluster: %w", err)
	}
	dir, err := os.Open(l.dir)
	if err != nil {
		return fmt.Errorf("flush the data directory: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("flush the data directory: %w", err)
	}
	return nil
}

func initdb(ctx context.Context, cfg Config, l layout, who account, bins binaries, locale string) (said string, err error) {
	data, err := who.handle(l.unborn())
	if err != nil {
		return err.Error(), err
	}
	defer data.close()
	args := []string{
		"-D", data.path, "--data-checksums", "--encoding=UTF8", "--locale=" + locale,
		"--username=" + Superuser, "--auth-local=trust", "--auth-host=reject",
	}
	if cfg.Settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, bins.initdb(), args...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Dir = "/"
	cmd.ExtraFiles = data.files()
	cmd.SysProcAttr = attributes(who, dieWithParent)
	c, err := spawn(cmd, "", 0)
	if err != nil {
		return err.Error(), err
	}
	<-c.done
	return out.String(), c.err
}

// environment is all that the server and its tools inherit: nothing that would
// turn them to another server, and no secret of this process. Messages are in
// English because some of them are read here.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
