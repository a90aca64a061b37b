package embedded

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// pidFile is what a server writes about itself into its cluster.
type pidFile struct {
	pid    int
	runDir string
	status string
}

func (p pidFile) ready() bool { return p.status == "ready" }

// readPIDFile reads a pid file that may be half written.
func readPIDFile(path string) (pidFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return pidFile{}, fmt.Errorf("%s names no process", path)
	}
	p := pidFile{pid: pid}
	if len(lines) > 4 {
		p.runDir = lines[4]
	}
	if len(lines) > 7 {
		p.status = strings.TrimSpace(lines[7])
	}
	return p, nil
}
