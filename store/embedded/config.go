package embedded

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// Superuser is the name of the cluster's owner, and of the database that
// [Start] makes for it.
const Superuser = "fenceline"

// Config says which server to run and where. Its zero value runs the newest
// server found on the machine in [DefaultDir].
type Config struct {
	// DataDir is the directory that holds the lock, the cluster, the socket
	// and the log. It is made when missing. Empty means [DefaultDir].
	DataDir string

	// BinDir is the directory of initdb and postgres. Empty means: the one
	// named by PGBIN in the environment, else the first working set found on
	// PATH and in the places where packages put them.
	BinDir string

	// Log receives a line for each thing done to the server. Nil discards them.
	Log *slog.Logger

	// Settings are server parameters that replace or add to the built-in ones,
	// such as {"fsync": "off"} for tests. With fsync off a new cluster is not
	// flushed to disk either.
	Settings map[string]string

	// Env is added to the server's environment, as "name=value". The server
	// inherits nothing else but the search paths for programs and libraries.
	Env []string
}

// DefaultDir is the data directory used when none is given: /var/lib/fenceline
// for root, whose home the server's own user could not enter, and for everyone
// else fenceline below XDG_STATE_HOME or ~/.local/state. It fails when the user
// has no home directory.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/fenceline", nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "fenceline"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("choose a data directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "fenceline"), nil
}

// resolve gives the absolute data directory that dir means.
func resolve(dir string) (string, error) {
	if dir == "" {
		return DefaultDir()
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %q: %w", dir, err)
	}
	return abs, nil
}

func (c Config) logger() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
