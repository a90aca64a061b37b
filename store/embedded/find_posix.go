//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
)

// Find looks for a server that another process runs on the data directory
// (empty means [DefaultDir]) and returns what [Server.URL] would. It returns
// [ErrNotRunning] when there is none or when it is not ready, and another error
// when this user may not look.
func Find(dataDir string) (url func(database, user string) string, err error) {
	dir, err := resolve(dataDir)
	if err != nil {
		return nil, err
	}
	l := layout{dir}
	p, err := readPIDFile(l.pidFile())
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("data directory %s belongs to another user; run as that user: %w", dir, err)
	}
	if err != nil || !p.ready() || !serves(p.pid, l.data()) {
		return nil, &refusal{ErrNotRunning, "no database server is running on data directory " + dir}
	}
	return func(database, user string) string { return socketURL(p.runDir, database, user) }, nil
}
