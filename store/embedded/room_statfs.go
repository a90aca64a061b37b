//go:build darwin || dragonfly || freebsd || linux

package embedded

import "syscall"

// room is how many bytes a user may still store on the disk of dir.
func room(dir string) (bytes uint64, known bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return 0, false
	}
	// Where root keeps a reserve, what is left for others can be below nothing.
	if int64(fs.Bavail) < 0 {
		return 0, true
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), true
}
