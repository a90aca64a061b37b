package embedded

import "path/filepath"

// layout names the parts of a data directory.
type layout struct{ dir string }

func (l layout) lock() string    { return filepath.Join(l.dir, "lock") }
func (l layout) data() string    { return filepath.Join(l.dir, "data") }
func (l layout) unborn() string  { return filepath.Join(l.dir, "data.new") }
func (l layout) run() string     { return filepath.Join(l.dir, "run") }
func (l layout) log() string     { return filepath.Join(l.dir, "postgres.log") }
func (l layout) version() string { return filepath.Join(l.data(), "PG_VERSION") }
func (l layout) pidFile() string { return filepath.Join(l.data(), "postmaster.pid") }

const (
	socketPort = "5432"
	// maxSocketPath is what the smallest sun_path of the supported systems
	// takes, without its closing zero.
	maxSocketPath = 103
)

// fits reports whether a socket in dir has a path that the system can take.
func fits(dir string) bool {
	return len(filepath.Join(dir, ".s.PGSQL."+socketPort)) <= maxSocketPath
}
