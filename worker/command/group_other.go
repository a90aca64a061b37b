//go:build !unix

package command

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Without process groups a program is killed alone and without a warning.
func ownGroup() *syscall.SysProcAttr { return nil }

func stopGroup(p *os.Process) { p.Kill() }
func killGroup(p *os.Process) { p.Kill() }

func mayRun(fs.FileInfo) bool { return true }

func (e *ending) class() string {
	if e.state == nil {
		return "no exit status"
	}
	return fmt.Sprintf("exit status %d", e.state.ExitCode())
}
