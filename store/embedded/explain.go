package embedded

import (
	"errors"
	"fmt"
	"strings"
)

// fullDisk are the words with which the system refuses to store more. The
// server's own messages are the only witness, so they are asked for in English.
var fullDisk = []string{"No space left on device", "Disk quota exceeded"}

// explain makes one error of what was attempted and what the server said.
func explain(dir, what, said string) error {
	said = lastLines(said, 12)
	for _, words := range fullDisk {
		if strings.Contains(said, words) {
			return &refusal{ErrDiskFull, fmt.Sprintf("no space is left on the disk of %s: %s; free some and start again, nothing was lost:\n%s", dir, what, said)}
		}
	}
	if said == "" {
		return errors.New(what)
	}
	return fmt.Errorf("%s:\n%s", what, said)
}

// crowdedBelow is the size of one segment of the server's log of changes, which
// it makes room for before anything else.
const crowdedBelow = 16 << 20

// crowded tells a server that did not start for want of room, which does not
// always say so itself: the words of its background processes are not logged.
func crowded(dir string, failed error) error {
	left, known := room(dir)
	if !known || left >= crowdedBelow || errors.Is(failed, ErrDiskFull) {
		return failed
	}
	return &refusal{ErrDiskFull, fmt.Sprintf("no space is left on the disk of %s but %d KiB; free some and start again, nothing was lost: %v", dir, left>>10, failed)}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
