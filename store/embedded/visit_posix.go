//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Visit says that this process uses the server that another one runs on the
// data directory (empty means [DefaultDir]), until leave is called or the process
// dies. It returns [ErrInUse] while the server's owner waits in [Alone], or has
// come back from it.
func Visit(dataDir string) (leave func(), err error) {
	return hold(dataDir, syscall.LOCK_SH)
}

// Alone waits until nobody visits the server on the data directory, and keeps
// visitors away until release is called. When ctx ends first it returns an
// error that matches [ErrInUse].
func Alone(ctx context.Context, dataDir string) (release func(), err error) {
	for {
		release, err = hold(dataDir, syscall.LOCK_EX)
		if !errors.Is(err, ErrInUse) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hold locks the directory itself. The lock file inside is the owner's.
func hold(dataDir string, how int) (release func(), err error) {
	dir, err := resolve(dataDir)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("visit the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &refusal{ErrInUse, fmt.Sprintf("others use data directory %s, or its server is being stopped", dir)}
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { ownership{f}.Close() }, nil
}
