//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
)

// serves reports whether pid is a PostgreSQL server of the given cluster. A pid
// alone says nothing: it may have gone to another program, or to another server,
// since it was written down. The server's command line names its cluster.
func serves(pid int, dataDir string) bool {
	line, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(line), "postgres") && strings.Contains(string(line)+" ", " -D "+dataDir+" ")
}
