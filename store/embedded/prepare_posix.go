//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const errNoSpace = syscall.ENOSPC

// prepare makes the directory itself. What must stay private lies in
// directories and files of their own with modes of their own.
func (l layout) prepare() error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o755
	}
	if err := os.MkdirAll(l.dir, mode); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	return nil
}

// ownership is the lock on a directory.
type ownership struct{ file *os.File }

// Close gives the lock back at once. Closing the file alone would leave it to
// the children that are being forked at the moment, until each runs its program.
func (o ownership) Close() error {
	return errors.Join(syscall.Flock(int(o.file.Fd()), syscall.LOCK_UN), o.file.Close())
}

// own takes the lock on the directory, which is held until it is closed or this
// process dies.
func (l layout) own() (io.Closer, error) {
	f, err := l.openFile(l.lock(), os.O_RDWR)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("data directory %s belongs to another user; run as that user or name another directory: %w", l.dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		return nil, &refusal{ErrInUse, fmt.Sprintf("data directory %s is in use by another fenceline process (pid %s); stop that one, or give this one a directory of its own", l.dir, holder(f))}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", l.lock(), err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", l.lock(), err)
	}
	return ownership{f}, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func holder(f *os.File) string {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0)
	if pid := strings.TrimSpace(string(text[:n])); pid != "" {
		return pid
	}
	return "unknown"
}

// openLog opens the server's log for appending, moving a large one aside.
func (l layout) openLog() (*os.File, error) {
	const large = 16 << 20
	if info, err := os.Lstat(l.log()); err == nil && info.Size() > large {
		if err := os.Rename(l.log(), l.log()+".1"); err != nil {
			return nil, fmt.Errorf("move the server's log aside: %w", err)
		}
	}
	f, err := l.openFile(l.log(), os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	return f, nil
}

// openFile opens or makes a private file of the directory. Made by root in
// somebody's directory it still belongs to that somebody, who may start next.
func (l layout) openFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil || os.Geteuid() != 0 {
		return f, err
	}
	info, err := os.Stat(l.dir)
	if err == nil {
		owner := info.Sys().(*syscall.Stat_t)
		err = f.Chown(int(owner.Uid), int(owner.Gid))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// socketDir makes the private directory that the socket lies in: run, or a
// directory below /tmp when run's path is too long for a socket or closed to
// the server's user.
func (l layout) socketDir(who account) (string, error) {
	if fits(l.run()) && who.reaches(l.dir) {
		return l.run(), privateDir(l.run(), who)
	}
	h := fnv.New64a()
	h.Write([]byte(l.dir))
	dir := fmt.Sprintf("/tmp/fenceline-%d-%x", who.uid(), h.Sum64())
	if err := privateDir(dir, who); err != nil {
		// Somebody else made that name first: theirs is not to be trusted.
		if dir, err = os.MkdirTemp("/tmp", "fenceline-"); err != nil {
			return "", fmt.Errorf("make a directory for the socket: %w", err)
		}
		return dir, privateDir(dir, who)
	}
	return dir, nil
}

// clearSocket removes what a dead server left in the socket's directory. Its
// lock file names a pid too, which may belong to something else by now.
func clearSocket(runDir string) error {
	for _, name := range []string{".s.PGSQL." + socketPort, ".s.PGSQL." + socketPort + ".lock"} {
		if err := os.Remove(filepath.Join(runDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a dead server's socket: %w", err)
		}
	}
	return nil
}

// privateDir makes dir, or checks that it is a directory that only the
// server's user may enter.
func privateDir(dir string, who account) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		return who.give(dir)
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == os.Geteuid() && owner != who.uid() && info.IsDir() {
		// A start that was killed between making the directory and giving it away.
		return who.give(dir)
	}
	if !info.IsDir() || owner != who.uid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s is not a private directory of %s", dir, who)
	}
	return nil
}

// data is the cluster's directory under the name that the server is given.
type data struct {
	path string
	dir  *os.File // open for the server when its path is closed to its user
}

func (d data) close() {
	if d.dir != nil {
		d.dir.Close()
	}
}

func (d data) files() []*os.File {
	if d.dir == nil {
		return nil
	}
	return []*os.File{d.dir}
}

// dataFor names the cluster for the server's user. Root may keep it below a
// directory that this user cannot enter, such as root's own home; then the
// server is handed the open directory instead, where the system can do that.
func (l layout) dataFor(who account) (data, error) { return who.handle(l.data()) }

func (a account) handle(dir string) (data, error) {
	if a.reaches(filepath.Dir(dir)) {
		return data{path: dir}, nil
	}
	if inheritedDir == "" {
		return data{}, fmt.Errorf("the database server runs as %s, who cannot enter %s; name a data directory that is open to that user", a, filepath.Dir(dir))
	}
	f, err := os.Open(dir)
	if err != nil {
		return data{}, fmt.Errorf("open %s: %w", dir, err)
	}
	return data{path: inheritedDir, dir: f}, nil
}
