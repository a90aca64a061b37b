//go:build unix

package process

import "syscall"

// Supported says whether processes can be paused here.
const Supported = true

// Pause stops a process.
func Pause(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

// Continue lets a paused process go on.
func Continue(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
