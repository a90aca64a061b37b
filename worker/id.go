package worker

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

const (
	maxName      = 200 // bytes
	freshLetters = 12
)

// newID is a readable name with a part that is new at each start: a restarted
// process can never speak for its former self.
func newID(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name)
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	if name == "" {
		name = "worker"
	}
	var fresh [freshLetters / 2]byte
	rand.Read(fresh[:])
	return name + "-" + hex.EncodeToString(fresh[:])
}

// newAttemptIDs draws n random UUIDs (version 4) with one read.
func newAttemptIDs(n int) []uuid.UUID {
	raw := make([]byte, 16*n)
	rand.Read(raw)
	ids := make([]uuid.UUID, n)
	for i := range ids {
		copy(ids[i][:], raw[16*i:])
		ids[i][6] = ids[i][6]&0x0f | 0x40
		ids[i][8] = ids[i][8]&0x3f | 0x80
	}
	return ids
}
