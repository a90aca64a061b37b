//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// binaries are one working set of server programs.
type binaries struct {
	dir     string
	version string // "15.18"
}

func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }
func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }

func (b binaries) major() string {
	major, _, _ := strings.Cut(b.version, ".")
	return major
}

func (b binaries) number() int {
	n, _ := strconv.Atoi(b.major())
	return n
}

// oldest is the first major version that Fenceline's schema runs on.
const oldest = 14

// places are the directories where packages put a server, each major version
// in one of its own.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/lib/postgresql*/bin",
	"/usr/libexec/postgresql*",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/opt/local/lib/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin",
}

// choose finds the server to run: the newest of the first source that has one,
// or, for a cluster that exists, the first of the version that made it.
func choose(explicit string, who account, major string, l layout) (binaries, error) {
	if explicit == "" {
		explicit = os.Getenv("PGBIN")
	}
	working := candidates(explicit, who)
	if len(working) == 0 {
		return binaries{}, missing(explicit, who)
	}
	return pick(working, major, l)
}

// pick takes the first set that fits a cluster of the given major version, or
// simply the first when there is no cluster yet.
func pick(working []binaries, major string, l layout) (binaries, error) {
	for _, b := range working {
		if major == "" || b.major() == major {
			return b, nil
		}
	}
	return binaries{}, &refusal{ErrVersion, fmt.Sprintf(
		"the database in %s was made by PostgreSQL %s, but the server found is %s (%s); %s, or name another data directory; nothing was changed",
		l.dir, major, working[0].version, working[0].dir, installVersion(major))}
}

// candidates are the sets that run, in the order in which they are preferred.
func candidates(explicit string, who account) []binaries {
	if explicit != "" {
		return working([]string{explicit}, who)
	}
	var onPath []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			onPath = append(onPath, filepath.Dir(path))
		}
	}
	var packaged []string
	for _, pattern := range places {
		dirs, _ := filepath.Glob(pattern)
		packaged = append(packaged, dirs...)
	}
	return append(working(onPath, who), newestFirst(working(packaged, who))...)
}

func newestFirst(found []binaries) []binaries {
	slices.SortStableFunc(found, func(a, b binaries) int { return b.number() - a.number() })
	return found
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+[0-9.]*)`)

// working keeps the directories whose server says its version when run as the
// account and is not too old: packages come half installed, and root's programs
// may be closed to others.
func working(dirs []string, who account) []binaries {
	var found []binaries
	for _, dir := range dirs {
		b := binaries{dir: dir}
		if info, err := os.Stat(b.initdb()); err != nil || info.IsDir() {
			continue
		}
		var out bytes.Buffer
		cmd := exec.Command(b.postgres(), "-V")
		cmd.Env, cmd.Dir, cmd.Stdout = environment(), "/", &out
		cmd.SysProcAttr = attributes(who, dieWithParent)
		c, err := spawn(cmd, "", 0)
		if err != nil {
			continue
		}
		<-c.done
		if m := versionLine.FindStringSubmatch(out.String()); c.err == nil && m != nil {
			if b.version = m[1]; b.number() >= oldest {
				found = append(found, b)
			}
		}
	}
	return found
}

func missing(explicit string, who account) error {
	if explicit != "" {
		return &refusal{ErrMissing, fmt.Sprintf("%s holds no PostgreSQL server (postgres and initdb, version %d or newer) that %s can run; name the directory of a working one", explicit, oldest, who)}
	}
	return &refusal{ErrMissing, fmt.Sprintf("no PostgreSQL server (version %d or newer) was found on this machine; install one with `%s`, or name a running one with DATABASE_URL", oldest, installCommand())}
}
