//go:build unix

package command

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownGroup puts the program at the head of a new process group, so that it can
// be stopped with everything it started.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func stopGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup also reaches what outlived the program itself, as long as it stayed
// in the group.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

func mayRun(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

// class names how the program ended.
func (e *ending) class() string {
	if e.state == nil {
		return "no exit status"
	}
	if status, ok := e.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "signal " + signalName(status.Signal())
	}
	return fmt.Sprintf("exit status %d", e.state.ExitCode())
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGHUP: "SIGHUP",
		syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE",
		syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
	}
	if name, known := names[s]; known {
		return name
	}
	return fmt.Sprint(int(s))
}
