package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// tokenMark begins every token, so that one that was committed or pasted
// somewhere is found by those who look for such.
const tokenMark = "fnc_"

// NewToken makes a token of 256 bits for a program.
func NewToken() string { return tokenMark + secret() }

// NewCode makes a one-time code of 256 bits.
func NewCode() string { return secret() }

func secret() string { return strings.ToLower(rand.Text() + rand.Text()) }

// Hash is what may be kept of a token or a code: they hold so much chance that
// nothing slower is needed.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// IsToken reports whether a text could be a token.
func IsToken(text string) bool {
	rest, ok := strings.CutPrefix(text, tokenMark)
	return ok && len(rest) == 52 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
