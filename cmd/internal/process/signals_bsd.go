//go:build unix && !linux

package process

import "syscall"

// attributes keep a terminal's Ctrl-C away from the workers. When this process
// is killed they notice that their standard input ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isPaused trusts the signal: there is no portable way to ask.
func isPaused(int) bool { return true }
