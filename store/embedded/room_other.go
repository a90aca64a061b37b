//go:build !(darwin || dragonfly || freebsd || linux)

package embedded

// room is not known here.
func room(string) (bytes uint64, known bool) { return 0, false }
