// Package access makes and checks what people and programs prove with who they
// are: passwords, tokens and one-time codes. It keeps nothing.
package access

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"github.com/fenceline/fenceline/store"
)

// A password is long rather than of certain characters, and any text may be one.
const (
	MinPassword = 15  // characters
	MaxPassword = 128 // characters
)

// CheckPassword says, as an *[store.InvalidError], why a text cannot be the
// password of a person of that name.
func CheckPassword(name, password string) error {
	refuse := func(why string) error { return &store.InvalidError{Field: "password", Message: why} }
	length, different := 0, map[rune]bool{}
	for _, r := range password {
		length++
		different[r] = true
	}
	lower := strings.ToLower(password)
	switch {
	case !utf8.ValidString(password):
		return refuse("is not UTF-8")
	case length < MinPassword:
		return refuse(fmt.Sprintf("must have at least %d characters; a few words with spaces between them make a good one", MinPassword))
	case length > MaxPassword:
		return refuse(fmt.Sprintf("must have at most %d characters", MaxPassword))
	case len(different) < 6:
		return refuse("repeats a few characters only")
	case name != "" && strings.ReplaceAll(lower, strings.ToLower(name), "") == "", strings.ReplaceAll(lower, "fenceline", "") == "":
		return refuse("is made of the name only")
	}
	for _, known := range common {
		if strings.HasPrefix(lower, known) && len(lower)-len(known) < 4 {
			return refuse("is one of those that are tried first")
		}
	}
	return nil
}

// common are the long ones among the passwords that are tried first.
var common = []string{
	"123456789012345", "1234567890123456", "qwertyuiopasdfgh", "qwertyuiop12345", "1q2w3e4r5t6y7u8i", "passwordpassword",
	"password1234567", "passw0rdpassw0rd", "administrator123", "correcthorsebatterystaple", "correct horse battery staple",
	"abcdefghijklmno", "iloveyouiloveyou", "letmeinletmeinletmein", "changemechangeme", "adminadminadmin",
}

// The memory is what makes guessing dear; it is also why few are made at once.
var cost = &argon2id.Params{Memory: 46 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// atOnce bounds how many are computed at a time in this process.
var atOnce = make(chan struct{}, 2)

func taken(ctx context.Context, fn func() error) error {
	select {
	case atOnce <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-atOnce }()
	return fn()
}

// HashPassword makes what may be kept of a password, in the PHC form. It waits
// for its turn, or for the end of ctx.
func HashPassword(ctx context.Context, password string) (hash string, err error) {
	err = taken(ctx, func() (err error) {
		hash, err = argon2id.CreateHash(password, cost)
		return err
	})
	return hash, err
}

// nobody is compared with where there is no account, so that both take as long.
var nobody = sync.OnceValue(func() string {
	hash, err := argon2id.CreateHash("there is nobody of that name", cost)
	if err != nil {
		panic("access: no password can be hashed: " + err.Error())
	}
	return hash
})

// PasswordFits compares a password with what was kept; an empty hash fits no
// password and takes as long. It waits for its turn, or for the end of ctx.
func PasswordFits(ctx context.Context, password, hash string) (fits bool, err error) {
	known := hash != ""
	if !known {
		hash = nobody()
	}
	err = taken(ctx, func() (err error) {
		fits, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return fits && known, err
}
