package main

import (
	"strings"
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
	// A serve that stops in order takes the database with it. A worker that ends
	// after that cannot say so, and is not lost for it.
	late := begin(t, env, "worker")
	eventually(t, "the late worker", func() bool {
		return strings.Contains(runWith(t, env, "", "workers", "list").wants(t, exitOK).out, "live")
	})
	second.signal(syscall.SIGTERM)
	same(t, "the serve's exit code", second.wait(), exitOK)
	late.signal(syscall.SIGKILL)
	late.wait()
	cut := func() (n int) {
		list := runWith(t, env, "", "workers", "list", "--json").wants(t, exitOK).object(t)
		for _, one := range list["workers"].([]any) {
			if known := one.(map[string]any); known["stopped_how"] == "cut off" && known["status"] == "stopped" {
				n++
			} else if known["status"] == "lost" || known["status"] == "live" {
				t.Errorf("%v is %v", known["id"], known["status"])
			}
		}
		return n
	}
	same(t, "workers that are told to have been cut off", cut(), 1)
	// Nor is one that is killed together with the database.
	third, both := serve(t, env, "--workers", "0"), begin(t, env, "worker")
	eventually(t, "one more worker", func() bool {
		return strings.Contains(runWith(t, env, "", "workers", "list").wants(t, exitOK).out, "live")
	})
	for _, p := range []*process{third.process, both} {
		p.signal(syscall.SIGKILL)
		p.wait()
	}
	same(t, "workers that are told to have been cut off then", cut(), 2)
}
