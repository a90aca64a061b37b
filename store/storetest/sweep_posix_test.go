//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package storetest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOnlyWhatKilledTestProcessesLeftIsSweptAway(t *testing.T) {
	t.Parallel()
	below := t.TempDir()
	long := time.Now().Add(-time.Hour)
	left := leave(t, below, tempPrefix+"left", long)
	held := leave(t, below, tempPrefix+"held", long)
	young := leave(t, below, tempPrefix+"young", time.Now())
	other := leave(t, below, "somebody-else", long)
	alive := leave(t, below, tempPrefix+"alive", long)
	if err := os.MkdirAll(filepath.Join(alive, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(alive, "data", "postmaster.pid"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(filepath.Join(held, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	sweep(below)
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed process left is still there")
	}
	for _, dir := range []string{held, young, other, alive} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s is gone", filepath.Base(dir))
		}
	}
}

func leave(t *testing.T, below, name string, at time.Time) string {
	t.Helper()
	dir := filepath.Join(below, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, "lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(lock, at, at); err != nil {
		t.Fatal(err)
	}
	return dir
}
