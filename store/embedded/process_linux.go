package embedded

import (
	"fmt"
	"os"
	"strings"
)

// serves reports whether pid is a PostgreSQL server of the given cluster. A pid
// alone says nothing: it may have gone to another program, or to another server,
// since it was written down. Every process of a server stays in its cluster's
// directory.
func serves(pid int, dataDir string) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || !strings.HasPrefix(string(name), "post") {
		return false
	}
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	own, err := os.Stat(dataDir)
	return err == nil && os.SameFile(cwd, own)
}
