//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that the server runs as: this process's own, or for
// root, whom PostgreSQL refuses to serve, another one.
type account struct {
	name string
	cred *syscall.Credential // nil: as this process
}

func (a account) String() string { return "user " + a.name }

func (a account) uid() int {
	if a.cred == nil {
		return os.Geteuid()
	}
	return int(a.cred.Uid)
}

// accountFor decides whom to be: whoever owns the cluster already, because the
// server accepts no other, else postgres, else nobody.
func accountFor(l layout) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: ownerName(uint32(os.Geteuid()))}, nil
	}
	if info, err := os.Stat(l.data()); err == nil {
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 0 {
			return account{ownerName(owner.Uid), &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil && uid != 0 {
			return account{name, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
		}
	}
	return account{}, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as; start as another user")
}

func ownerName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// give makes path private to the account.
func (a account) give(path string) error {
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("make %s private: %w", path, err)
	}
	if a.cred == nil {
		return nil
	}
	if err := os.Chown(path, int(a.cred.Uid), int(a.cred.Gid)); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, a, err)
	}
	return nil
}

// reaches reports whether the account may enter dir. Only the system knows
// (modes, lists, mounts), so the account goes there.
func (a account) reaches(dir string) bool {
	if a.cred == nil {
		return true
	}
	cmd := exec.Command("/bin/sh", "-c", "exit 0")
	cmd.Dir = dir
	cmd.SysProcAttr = attributes(a, dieWithParent)
	c, err := spawn(cmd, "", 0)
	if err != nil {
		return false
	}
	<-c.done
	return c.err == nil
}
