//go:build unix

package process

import "syscall"

// Supported says whether processes can be paused here.
const Supported = true

func pause(pid int) error  { return syscall.Kill(pid, syscall.SIGSTOP) }
func resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
