//go:build unix

package drill

import "syscall"

const supported = true

func pauseProcess(pid int) error    { return syscall.Kill(pid, syscall.SIGSTOP) }
func continueProcess(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
