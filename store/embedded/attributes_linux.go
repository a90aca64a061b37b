package embedded

import "syscall"

const (
	// shutdownWithParent makes a server stop in good order when this process dies.
	shutdownWithParent = syscall.SIGINT
	// dieWithParent is for programs that leave nothing to put in order.
	dieWithParent = syscall.SIGKILL

	// inheritedDir is the first of a child's inherited files, as a path.
	inheritedDir = "/proc/self/fd/3"
)

// attributes give a child its user, a signal for when this process dies, and a
// process group of its own: Ctrl-C in a terminal reaches this process only,
// which still needs its database to finish what it holds.
func attributes(who account, onParentDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: who.cred, Pdeathsig: onParentDeath}
}
