//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// sweep removes the directories below dir of test processes that were killed.
// A lock that can be had has no owner, unless its owner is just about to take
// it: then it would be told that the directory is in use, so new ones are let be.
func sweep(dir string) {
	dirs, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	for _, dir := range dirs {
		lock, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if info, err := lock.Stat(); err != nil || time.Since(info.ModTime()) < time.Minute {
			lock.Close()
			continue
		}
		free := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
		_, err = os.Stat(filepath.Join(dir, "data", "postmaster.pid"))
		if free && errors.Is(err, os.ErrNotExist) {
			os.RemoveAll(dir)
		}
		lock.Close()
	}
}
