package process

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// attributes keep a terminal's Ctrl-C away from the workers, which are ended by
// the drill, and end them, stopped or not, when this process is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isPaused reads the state of the process, which stands behind its name.
func isPaused(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	name := bytes.LastIndexByte(stat, ')')
	return name >= 0 && len(stat) > name+2 && stat[name+2] == 'T'
}
