package embedded

import "errors"

var (
	// ErrInUse is returned by [Start] when another live process owns the data
	// directory. The error's text names the directory and that process's pid.
	// [Visit] returns it while the owner stops the server, and [Alone] when
	// visitors stay.
	ErrInUse = errors.New("data directory is in use")

	// ErrMissing is returned by [Start] when no working set of PostgreSQL
	// server binaries was found. The error's text is one sentence with the
	// command that installs them on this system.
	ErrMissing = errors.New("no PostgreSQL server binaries")

	// ErrVersion is returned by [Start] when the data directory was made by a
	// major version of PostgreSQL that is not among the binaries found. Nothing
	// in the directory has been changed.
	ErrVersion = errors.New("data directory belongs to another PostgreSQL version")

	// ErrDiskFull is returned by [Start] when the file system of the data
	// directory has no room left. The error's text ends with what the server said.
	ErrDiskFull = errors.New("no space left for the database")

	// ErrNotRunning is returned by [Find] when no server runs on the directory.
	ErrNotRunning = errors.New("no database server is running on this data directory")

	// ErrUnsupported is returned by [Start] and [Find] on systems where no
	// private server can be run; a server of one's own must be named there.
	ErrUnsupported = errors.New("an embedded database server cannot be run on this system: name a PostgreSQL server with DATABASE_URL")
)

// refusal is a sentinel said in a sentence made for the person who reads it.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }
