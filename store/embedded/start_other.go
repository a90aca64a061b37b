//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

import "context"

// Start returns [ErrUnsupported]: a private server needs Unix sockets with
// permissions, and signals.
func Start(context.Context, Config) (*Server, error) { return nil, ErrUnsupported }

// Find returns [ErrUnsupported].
func Find(string) (url func(database, user string) string, err error) { return nil, ErrUnsupported }

// Visit returns [ErrUnsupported].
func Visit(string) (leave func(), err error) { return nil, ErrUnsupported }

// Alone returns [ErrUnsupported].
func Alone(context.Context, string) (release func(), err error) { return nil, ErrUnsupported }
