//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package embedded

import "syscall"

const (
	shutdownWithParent = syscall.SIGINT
	dieWithParent      = syscall.SIGKILL

	// inheritedDir is empty: a directory cannot be named by an inherited file here.
	inheritedDir = ""
)

// attributes give a child its user and a process group of its own, so that
// Ctrl-C in a terminal reaches this process only. These systems have no signal
// for a parent's death; the next start stops a server that outlived its owner.
func attributes(who account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: who.cred}
}
