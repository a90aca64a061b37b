package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// DiskFull fills the disk of the database, again and again. The server has a
// small file system of its own, which only root can make.
func DiskFull(goal Goal) Scene {
	full := fault{name: "disk of the database full", server: true, weight: 6, do: diskFull}
	return Scene{
		Name: "disk full", Goal: goal, Once: []fault{full, full}, Gap: 2 * time.Second,
		Faults: append([]fault{full}, ofServer[:2]...), Small: ofProcesses,
		lacking: func(context.Context) string {
			if os.Geteuid() != 0 {
				return "a file system for the database can be made by root only"
			}
			dir, err := os.MkdirTemp("", "fenceline-faults-")
			if err != nil {
				return err.Error()
			}
			defer os.Remove(dir)
			undo, err := mount(dir)
			if err != nil {
				return err.Error()
			}
			if err := undo(); err != nil {
				return err.Error()
			}
			return ""
		},
		place: func(dir string) (func() error, error) {
			server := filepath.Join(dir, "server")
			if err := os.Mkdir(server, 0o755); err != nil {
				return nil, err
			}
			return mount(server)
		},
	}
}

// diskSize holds a cluster, its log, and a minute's jobs.
const diskSize = "320m"

func mount(dir string) (undo func() error, err error) {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=755,size="+diskSize, "tmpfs", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("no file system could be mounted for the database: %w: %s", err, out)
	}
	return func() error {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("unmount the database's file system: %w: %s", err, out)
		}
		return nil
	}, nil
}

// diskFull leaves no byte for a while. The server may survive that or crash;
// when there is room again it is started where it gave up.
func diskFull(ctx context.Context, r *Rig, rng *rand.Rand) error {
	path := filepath.Join(r.config.DataDir, "filler")
	filler, err := os.Create(path)
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<20)
	for size := len(chunk); size > 0; {
		if _, err := filler.Write(chunk[:size]); err != nil {
			size /= 2
		}
	}
	// What is given free meanwhile is taken too.
	for end := time.Now().Add(between(rng, lease, 3*lease)); time.Now().Before(end); rest(ctx, 20*time.Millisecond) {
		filler.Write(chunk[:1<<12])
	}
	if err := errors.Join(filler.Close(), os.Remove(path)); err != nil {
		return err
	}
	return await(ctx, "the database is there again", func() (bool, error) {
		select {
		case <-r.current().Done():
			if err := r.current().Stop(ctx); err != nil {
				return false, err
			}
			if err := r.startServer(ctx); err != nil {
				return false, err
			}
		default:
		}
		err := r.ask(ctx, "select 1")
		return err == nil, err
	})
}
