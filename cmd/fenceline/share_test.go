package main

import (
	"sync"
	"syscall"
	"testing"
)

func TestVerbsAtOnceShareAServerThatNoneOfThemFound(t *testing.T) {
	t.Parallel()
	env := inDir(newDir(t))
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if r := runWith(t, env, "", "enqueue", "noop"); r.code != exitOK {
				t.Errorf("exit code %d: %s", r.code, r.err)
			}
		})
	}
	all.Wait()
	v := runWith(t, env, "", "verify", "--json").wants(t, exitOK).object(t)
	same(t, "jobs", v["jobs"], 5)
}

func TestAWorkerOutlivesTheServeWhoseDatabaseItShares(t *testing.T) {
	t.Parallel()
	env := inDir(newDir(t))
	first := serve(t, env, "--workers", "0")
	w := begin(t, env, "worker")
	state := func(id string) any {
		return runWith(t, env, "", "jobs", "show", id, "--json").wants(t, exitOK).object(t)["state"]
	}
	runWith(t, env, "", "enqueue", "noop").wants(t, exitOK)
	eventually(t, "the first job", func() bool { return state("1") == "completed" })
	first.signal(syscall.SIGKILL)
	first.wait()
	second := serve(t, env, "--workers", "0")
	runWith(t, env, "", "enqueue", "noop").wants(t, exitOK)
	eventually(t, "the second job", func() bool { return state("2") == "completed" })
	w.signal(syscall.SIGTERM)
	same(t, "the worker's exit code", w.wait(), exitOK)
	second.signal(syscall.SIGTERM)
	same(t, "the serve's exit code", second.wait(), exitOK)
}
